"""Report files on disk: each is there whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal, get_args

from cortex_eval.analysis import Report
from cortex_eval.core import InputError, StorageError, did_you_mean
from cortex_eval.datasets import atomic_file
from cortex_eval.reports.error_analysis_markdown import render_analysis_markdown
from cortex_eval.reports.html import html_chunks
from cortex_eval.reports.html_list import ListedCases
from cortex_eval.reports.html_parts import safe_name, subject_of
from cortex_eval.reports.machine import Dialect, ResultLines, csv_chunks, json_chunks, jsonl_chunks
from cortex_eval.reports.words import moment

Format = Literal["html", "markdown", "json", "csv", "jsonl", "junit", "parquet", "analysis"]
_NAMES: dict[Format, str] = {
    "html": "report_{stamp}.html",
    "markdown": "evaluation_{stamp}.md",
    "json": "evaluation_{stamp}.json",
    "csv": "evaluation_{stamp}.csv",
    "jsonl": "results_{whose}.jsonl",
    "junit": "junit_{stamp}.xml",
    "parquet": "evaluation_{stamp}.parquet",
    "analysis": "error_analysis_{stamp}.md",
}
_PLAIN_PAGE = re.compile(r"report_\d{8}_\d{6}\.html")
_SUBJECT = b'<meta name="cortex-subject" content="%b">'
_LOOKED_AT = 65_536
"""Bytes at either end of a file in which the run that it belongs to is named."""


def write_artifacts(
    report: Report,
    folder: Path | str,
    formats: Iterable[str] = ("json", "html"),
    *,
    dialect: Dialect = "cortex",
    lines: ResultLines | None = None,
    charts: bool = True,
    noted: ListedCases | None = None,
    rows_of: str = "",
) -> list[Path]:
    """Write the report in these formats, and give back the files in the order asked for.

    A run's own earlier files are replaced; those of another run of the same second are left alone, and this run's get
    the target's name, then a number, behind the time. A page has its suite and target there too where the folder has
    pages of others. `lines` holds the result rows, if they were taken down already; `noted` what a quick page says of
    the cases. `rows_of`: whose the result rows are, as `rows_owner` says it; without it, the target's.
    """
    wanted = _checked(formats)
    folder = Path(folder)
    writers: dict[Format, Callable[[], Iterable[bytes]]] = {
        "html": lambda: html_chunks(report, charts=charts, noted=noted),
        "markdown": lambda: _markdown(report),
        "json": lambda: json_chunks(report, dialect=dialect, lines=dict(zip(wanted, paths, strict=True)).get("jsonl")),
        "csv": lambda: csv_chunks(report),
        "jsonl": lambda: jsonl_chunks(report) if lines is None else lines.chunks(),
        "junit": lambda: _junit(report),
        "parquet": lambda: _parquet(report),
        "analysis": lambda: [render_analysis_markdown(report).encode("utf-8", "replace")],
    }
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        paths = _free_paths(report, folder, wanted, rows_of)
    except OSError as error:
        raise StorageError(_not_writable(folder, error)) from error
    # The lines first: the report file takes its results from them.
    for form, path in sorted(zip(wanted, paths, strict=True), key=lambda each: each[0] != "jsonl"):
        write_atomically(path, writers[form]())
    return paths


def rows_owner(report: Report, suites: Iterable[str]) -> str:
    """Whose result rows are, in the name of their file: with several suites in a folder, those of the suite."""
    return subject_of(report) if len({*suites, report.run.suite}) > 1 else safe_name(report.run.target_name)


def own_name(suite: str, suites: Iterable[str], service: str | None = None) -> str:
    """What tells the files of a suite from those of others in the folder; empty where there is nobody to tell it from.

    `suites` are those of the project file, `service` the one that was chosen out of several.
    """
    names = [suite] if len({*suites, suite}) > 1 else []
    names += [service] if service else []
    return "_".join(dict.fromkeys(map(safe_name, names)))


def write_shared(path: Path, content: bytes, *, own: str, option: str = "--output-dir") -> list[Path]:
    """Write a file that the next suite replaces, and beside it one with its `own` name, which stays; that one first."""
    kept = path.with_name(f"{path.stem}_{own}{path.suffix}") if own else path
    paths = list(dict.fromkeys((kept, path)))
    for each in paths:
        write_atomically(each, [content], option=option)
    return paths


def _markdown(report: Report) -> list[bytes]:
    from cortex_eval.reports.markdown import render_markdown  # as the two below: not for every run

    return [render_markdown(report).encode("utf-8", "replace")]


def _junit(report: Report) -> Iterable[bytes]:
    from cortex_eval.reports.junit import junit_chunks

    return junit_chunks(report)


def _parquet(report: Report) -> Iterable[bytes]:
    from cortex_eval.reports.parquet import parquet_chunks

    return parquet_chunks(report)


def write_atomically(path: Path, chunks: Iterable[bytes], *, option: str = "--output-dir") -> None:
    """Put these bytes in the file; whatever happens on the way, it holds all of them or what it held before.

    `option` is what names another place, should this one not do.
    """
    try:
        with atomic_file(path) as file:
            for chunk in chunks:
                file.write(chunk)
    except OSError as error:
        raise StorageError(_not_writable(path, error, option)) from error


def _checked(formats: Iterable[str]) -> list[Format]:
    known: Sequence[Format] = get_args(Format)
    asked = list(dict.fromkeys(formats))
    for form in asked:
        if form not in known:
            raise InputError(f"There is no report format {form!r}. {did_you_mean(form, known)}")
    return [form for name in asked for form in known if form == name]


def _free_paths(report: Report, folder: Path, formats: Sequence[Format], rows_of: str) -> list[Path]:
    """Paths that share one time stamp and belong to no other run."""
    target = safe_name(report.run.target_name)
    for stamp in _stamps(report, target):
        names = {form: _NAMES[form].format(stamp=stamp, whose=rows_of or target) for form in formats}
        if "html" in names:
            names["html"] = _page_name(report, folder, names["html"])
        if all(form == "jsonl" or _is_free(folder / name, report.run.id) for form, name in names.items()):
            return [folder / names[form] for form in formats]
    raise AssertionError("the stamps never end")


def _page_name(report: Report, folder: Path, plain: str) -> str:
    """The plain name, or one that tells the page from those of other suites and targets in this folder."""
    pages = sorted(each.name for each in folder.glob("report_*.html"))
    if not pages or plain in pages:  # the run's own, or one that is not free
        return plain
    subject = subject_of(report)
    is_shared = any(not _PLAIN_PAGE.fullmatch(name) for name in pages)
    if not is_shared:
        with (folder / pages[-1]).open("rb") as newest:
            is_shared = _SUBJECT % subject.encode() not in newest.read(_LOOKED_AT)
    target = safe_name(report.run.target_name)  # of another run of the same second it is there already
    return f"{plain.removesuffix('.html').removesuffix(f'_{target}')}_{subject}.html" if is_shared else plain


def _stamps(report: Report, target: str) -> Iterator[str]:
    stamp = f"{moment(report.timestamp):%Y%m%d_%H%M%S}"
    yield stamp
    yield f"{stamp}_{target}"
    for number in count(2):
        yield f"{stamp}_{target}_{number}"


def _is_free(path: Path, run_id: str) -> bool:
    try:
        with path.open("rb") as file:
            begins = file.read(_LOOKED_AT)
            file.seek(-min(_LOOKED_AT, path.stat().st_size), os.SEEK_END)  # Parquet says it at its end
            return re.search(rb"(?<!\w)%b(?!\w)" % re.escape(run_id.encode()), begins + file.read()) is not None
    except FileNotFoundError:
        return True


def _not_writable(path: Path, error: OSError, option: str = "--output-dir") -> str:
    reason = error.strerror or type(error).__name__
    return f"{path} cannot be written: {reason}. Choose another folder with {option}."
