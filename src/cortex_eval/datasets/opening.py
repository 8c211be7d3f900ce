"""Opening a dataset file: its format, its encoding, and what hides behind its name."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from cortex_eval.core import InputError, Problem, did_you_mean
from cortex_eval.datasets.problems import MAX_FILE_BYTES, Problems

Format = Literal["csv", "tsv", "jsonl", "json", "yaml", "parquet"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".parquet": "parquet",
}

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office file (XLS)"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_BOMS: tuple[tuple[bytes, str], ...] = (  # UTF-32 first: its mark begins with the one of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def format_of(path: Path) -> Format:
    """The format that a file's name promises; an unknown ending is an InputError that lists the known ones."""
    try:
        return SUFFIXES[path.suffix.casefold()]
    except KeyError:
        known = ", ".join(SUFFIXES)
        ending = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
        message = f"{ending} is not one of a dataset. Known: {known}.{near_file(path)}"
        raise InputError(Problem(message=message, file=str(path), code="wrong_type")) from None


def near_file(path: Path) -> str:
    """A sentence that offers a dataset with nearly this name in the same folder; empty when there is none."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix.casefold() in SUFFIXES]
    except OSError:
        return ""
    stems = {Path(name).stem: name for name in names}
    near = get_close_matches(path.name, names, n=1) or [
        stems[stem] for stem in get_close_matches(path.stem, stems, n=1) if not path.exists()
    ]
    return f" Did you mean {near[0]!r}?" if near and near[0] != path.name else ""


def check_file(path: Path, kind: Format, problems: Problems) -> None:
    """The file is there, is not too large, and is not a picture or a workbook under another name."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        reason = "is a folder" if path.is_dir() else (error.strerror or "cannot be read").casefold()
        raise problems.stop(f"the dataset cannot be read: {reason}.{near_file(path)}", code="not_found") from error
    if size > MAX_FILE_BYTES:
        limit = f"{MAX_FILE_BYTES // 1024 // 1024} MiB"
        message = f"the file has {size:,} bytes; at most {limit} ({MAX_FILE_BYTES:,} bytes) are read. Split it."
        raise problems.stop(message, code="too_large")
    if size == 0:
        raise problems.stop("the file is empty.", code="dataset_empty")
    found = _found_type(head)
    if kind == "parquet":
        if not head.startswith(b"PAR1"):
            raise problems.stop(f"this is {found or 'no Parquet file'}, not Parquet.", code="wrong_type")
    elif found:
        raise problems.stop(f"this is {found}, not {kind.upper()}. Export it as CSV or JSONL.", code="wrong_type")


def text_lines(path: Path, encoding: str | None, problems: Problems) -> Iterator[str]:
    """The lines of a text file, split at \\n only and with it."""
    name = _encoding_of(path, encoding)
    try:
        with path.open(encoding=name, newline="\n") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise _not_encoded(path, name, problems) from error


def whole_text(path: Path, encoding: str | None, problems: Problems) -> str:
    """All of a text file; its size was checked before."""
    name = _encoding_of(path, encoding)
    try:
        return path.read_bytes().decode(name)
    except UnicodeDecodeError as error:
        raise _not_encoded(path, name, problems) from error


def _encoding_of(path: Path, stated: str | None) -> str:
    with path.open("rb") as file:
        head = file.read(4)
    marked = next((name for mark, name in _BOMS if head.startswith(mark)), None)
    if marked is None and len(head) == 4 and stated is None and head.count(0) == 2:  # no text in UTF-8 begins like this
        marked = "utf-16-le" if head[1] == head[3] == 0 else "utf-16-be" if head[0] == head[2] == 0 else None
    if stated is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(stated)
        "".encode(known.name)  # refuses the codecs that are not for text, such as zip
    except LookupError:
        near = did_you_mean(stated, ["utf-8", "utf-16", "windows-1252", "latin-1", "shift_jis", "gb18030"])
        raise InputError(f"There is no encoding {stated!r}. {near}") from None
    return marked if marked and known.name in {"utf-8", "utf-16"} else known.name


def _not_encoded(path: Path, encoding: str, problems: Problems) -> Exception:
    data = path.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "ignore")
        shown = encoding.removesuffix("-sig").upper()
        return problems.stop(
            f"byte {error.start} (0x{data[error.start]:02x}) is not {shown}. Save the file as UTF-8, "
            "or say how it is written with encoding, for instance encoding: windows-1252.",
            code="encoding",
            line=before.count("\n") + 1,
        )
    return problems.stop("the file changed while it was read.", code="encoding")


def _found_type(head: bytes) -> str | None:
    if head.startswith(b"PK\x03\x04"):
        if b"xl/" in head or b"[Content_Types].xml" in head:
            return "an Excel workbook (XLSX)"
        return "a ZIP archive"
    if head.startswith(b"PAR1"):
        return "a Parquet file (name it .parquet)"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)
