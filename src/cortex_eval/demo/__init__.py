"""The embedded sample service and the sample projects."""

from cortex_eval.demo.project import copy_project, project_names
from cortex_eval.demo.service import HealthChatbot

__all__ = ["HealthChatbot", "copy_project", "project_names"]
