"""Hooks and fixtures: what pytest sees. The rest of Cortex is imported when a test asks for it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # none of this is imported where nobody uses it
    from cortex_eval.analysis import Report
    from cortex_eval.pytest_plugin.checks import CaseOutcome, Checker

MARK = "cortex"
MARK_HELP = (
    "cortex(suite, config=None, service=None, quick=False, category=(), tier=(), tag=(), language=(), limit=None, "
    "repeat=None, baseline=None, fail_under=None, check=True): play a suite of the Cortex project; one test per "
    "target, or per case where the test asks for the fixture cortex_case"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", MARK_HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Turn a marked test into one per target, or one per case."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    from cortex_eval.pytest_plugin.suites import make_items

    make_items(metafunc, mark)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:  # Any: what the test gives back
    """After the body of a marked test, fail it if what it played did not pass."""
    given = yield
    if pyfuncitem.get_closest_marker(MARK) is not None:
        from cortex_eval.pytest_plugin.suites import judge

        judge(pyfuncitem)
    return given


def pytest_terminal_summary(terminalreporter: Any) -> None:  # Any: pytest's own, which it does not export
    """A line for each suite that was played, and one for all checks; nothing where there were none."""
    said = {
        report.nodeid: report.user_properties
        for reports in terminalreporter.stats.values()
        for report in reports
        if any(name.startswith("cortex_") for name, _ in getattr(report, "user_properties", ()))
    }
    if said:
        from cortex_eval.pytest_plugin.checks import summary_lines

        terminalreporter.section("cortex")
        for line in summary_lines(said):
            terminalreporter.write_line(line)


@pytest.fixture
def cortex(request: pytest.FixtureRequest) -> Checker:
    """`cortex.check(case, target=my_agent, scorers=[...], threshold=0.8)`."""
    from cortex_eval.pytest_plugin.checks import Checker

    return Checker(request.node.user_properties)


@pytest.fixture
def cortex_case(request: pytest.FixtureRequest) -> CaseOutcome:
    """How the case of this test went; in a test marked with `cortex`."""
    from cortex_eval.pytest_plugin.suites import played_case

    return played_case(request.node, getattr(request, "param", None))


@pytest.fixture
def cortex_report(request: pytest.FixtureRequest) -> Iterator[Report]:
    """The report of the suite that this test played; in a test marked with `cortex`."""
    from cortex_eval.pytest_plugin.suites import played_report

    with played_report(request.node, getattr(request, "param", None)) as report:
        yield report
