"""The embedded sample services and the sample projects."""

from cortex_eval.demo.project import all_or_none, copy_project, project_names
from cortex_eval.demo.samples import FAULTS, KEY, SAMPLES, Sample, SampleService, put_fault
from cortex_eval.demo.service import HealthChatbot
from cortex_eval.demo.tour import (
    REGRESSION,
    TOUR,
    WELCOME,
    Act,
    Played,
    comparison_lines,
    heading,
    last_lines,
    suite_lines,
    surprise_lines,
    whole_lines,
    wrapped,
)
from cortex_eval.demo.weaknesses import (
    WEAKNESSES_FILE,
    Findings,
    Weakness,
    compare_with_list,
    read_weaknesses,
    weaknesses_in,
)

__all__ = [
    "FAULTS",
    "KEY",
    "REGRESSION",
    "SAMPLES",
    "TOUR",
    "WEAKNESSES_FILE",
    "WELCOME",
    "Act",
    "Findings",
    "HealthChatbot",
    "Played",
    "Sample",
    "SampleService",
    "Weakness",
    "all_or_none",
    "compare_with_list",
    "comparison_lines",
    "copy_project",
    "heading",
    "last_lines",
    "project_names",
    "put_fault",
    "read_weaknesses",
    "suite_lines",
    "surprise_lines",
    "weaknesses_in",
    "whole_lines",
    "wrapped",
]
