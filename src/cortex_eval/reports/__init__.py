"""One report, many renderings: terminal, Markdown, HTML, JSON, JSON lines, CSV, JUnit, Parquet."""

from typing import TYPE_CHECKING, Any

from cortex_eval.core import first_use

if TYPE_CHECKING:
    from cortex_eval.reports.calls import money
    from cortex_eval.reports.console import render_console
    from cortex_eval.reports.error_analysis import Fix, render_analysis, top_fixes
    from cortex_eval.reports.error_analysis_markdown import render_analysis_markdown
    from cortex_eval.reports.figures import COVERAGE_COLUMNS, coverage_sentence
    from cortex_eval.reports.files import Format, own_name, rows_owner, write_artifacts, write_atomically, write_shared
    from cortex_eval.reports.github import (
        COMMENT_FILE,
        annotation,
        as_shown,
        problem_annotations,
        render_comment,
        report_annotations,
        step_outputs,
        step_summary,
    )
    from cortex_eval.reports.html import html_chunks, is_quick_run, render_html
    from cortex_eval.reports.html_list import ListedCases
    from cortex_eval.reports.html_parts import safe_name
    from cortex_eval.reports.junit import cases_of, junit_chunks, missed_scores, outcome_of
    from cortex_eval.reports.machine import (
        Dialect,
        ResultLines,
        csv_chunks,
        json_chunks,
        jsonl_chunks,
        row_bytes,
        seed_row,
    )
    from cortex_eval.reports.markdown import render_markdown
    from cortex_eval.reports.parquet import parquet_chunks
    from cortex_eval.reports.systems import SUMMARY_FILE, Systems, compare_systems, render_systems, write_systems
    from cortex_eval.reports.text import in_a_line, visible, width_of
    from cortex_eval.reports.trend import check_metric, render_trend
    from cortex_eval.reports.versus import render_versus_console, render_versus_markdown
    from cortex_eval.reports.words import VerdictWords, few_cases, from_here, verdict_words, with_config, with_project

__all__ = [
    "COMMENT_FILE",
    "COVERAGE_COLUMNS",
    "SUMMARY_FILE",
    "Dialect",
    "Fix",
    "Format",
    "ListedCases",
    "ResultLines",
    "Systems",
    "VerdictWords",
    "annotation",
    "as_shown",
    "cases_of",
    "check_metric",
    "compare_systems",
    "coverage_sentence",
    "csv_chunks",
    "few_cases",
    "from_here",
    "html_chunks",
    "in_a_line",
    "is_quick_run",
    "json_chunks",
    "jsonl_chunks",
    "junit_chunks",
    "missed_scores",
    "money",
    "outcome_of",
    "own_name",
    "parquet_chunks",
    "problem_annotations",
    "render_analysis",
    "render_analysis_markdown",
    "render_comment",
    "render_console",
    "render_html",
    "render_markdown",
    "render_systems",
    "render_trend",
    "render_versus_console",
    "render_versus_markdown",
    "report_annotations",
    "row_bytes",
    "rows_owner",
    "safe_name",
    "seed_row",
    "step_outputs",
    "step_summary",
    "top_fixes",
    "verdict_words",
    "visible",
    "width_of",
    "with_config",
    "with_project",
    "write_artifacts",
    "write_atomically",
    "write_shared",
    "write_systems",
]

_HOMES = {
    "COMMENT_FILE": "github",
    "COVERAGE_COLUMNS": "figures",
    "SUMMARY_FILE": "systems",
    "Dialect": "machine",
    "Fix": "error_analysis",
    "Format": "files",
    "ListedCases": "html_list",
    "ResultLines": "machine",
    "Systems": "systems",
    "VerdictWords": "words",
    "annotation": "github",
    "as_shown": "github",
    "cases_of": "junit",
    "check_metric": "trend",
    "compare_systems": "systems",
    "coverage_sentence": "figures",
    "csv_chunks": "machine",
    "few_cases": "words",
    "from_here": "words",
    "html_chunks": "html",
    "in_a_line": "text",
    "is_quick_run": "html",
    "json_chunks": "machine",
    "jsonl_chunks": "machine",
    "junit_chunks": "junit",
    "missed_scores": "junit",
    "money": "calls",
    "outcome_of": "junit",
    "own_name": "files",
    "parquet_chunks": "parquet",
    "problem_annotations": "github",
    "render_analysis": "error_analysis",
    "render_analysis_markdown": "error_analysis_markdown",
    "render_comment": "github",
    "render_console": "console",
    "render_html": "html",
    "render_markdown": "markdown",
    "render_systems": "systems",
    "render_trend": "trend",
    "render_versus_console": "versus",
    "render_versus_markdown": "versus",
    "report_annotations": "github",
    "row_bytes": "machine",
    "rows_owner": "files",
    "safe_name": "html_parts",
    "seed_row": "machine",
    "step_outputs": "github",
    "step_summary": "github",
    "top_fixes": "error_analysis",
    "verdict_words": "words",
    "visible": "text",
    "width_of": "text",
    "with_config": "words",
    "with_project": "words",
    "write_artifacts": "files",
    "write_atomically": "files",
    "write_shared": "files",
    "write_systems": "systems",
}
"""The file of each name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for
    return first_use(__name__, _HOMES, name)
