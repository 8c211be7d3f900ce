"""Cortex in pytest: the fixture `cortex`, and tests that play a suite. Costs nothing until a test asks for it."""

from cortex_eval.pytest_plugin.hooks import (
    cortex,
    cortex_case,
    cortex_report,
    pytest_configure,
    pytest_generate_tests,
    pytest_pyfunc_call,
    pytest_terminal_summary,
)

__all__ = [
    "cortex",
    "cortex_case",
    "cortex_report",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "pytest_terminal_summary",
]
