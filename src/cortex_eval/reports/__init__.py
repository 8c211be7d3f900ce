"""One report, many renderings: terminal, Markdown, HTML, JSON, JSON lines, CSV."""

from cortex_eval.reports.calls import money
from cortex_eval.reports.console import render_console
from cortex_eval.reports.files import Format, safe_name, write_artifacts, write_atomically
from cortex_eval.reports.html import render_html
from cortex_eval.reports.machine import Dialect, ResultLines, csv_chunks, json_chunks, jsonl_chunks, row_bytes, seed_row
from cortex_eval.reports.markdown import render_markdown
from cortex_eval.reports.text import visible
from cortex_eval.reports.words import VerdictWords, verdict_words, with_config

__all__ = [
    "Dialect",
    "Format",
    "ResultLines",
    "VerdictWords",
    "csv_chunks",
    "json_chunks",
    "jsonl_chunks",
    "money",
    "render_console",
    "render_html",
    "render_markdown",
    "row_bytes",
    "safe_name",
    "seed_row",
    "verdict_words",
    "visible",
    "with_config",
    "write_artifacts",
    "write_atomically",
]
