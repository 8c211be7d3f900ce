"""The embedded sample services and the sample projects."""

from cortex_eval.demo.project import copy_project, project_names
from cortex_eval.demo.samples import SAMPLES, Sample, SampleService
from cortex_eval.demo.service import HealthChatbot

__all__ = ["SAMPLES", "HealthChatbot", "Sample", "SampleService", "copy_project", "project_names"]
