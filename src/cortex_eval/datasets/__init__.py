"""Datasets: read from files and Python values, checked, versioned, selected from, written and compared."""

from cortex_eval.datasets.attached import MAX_ATTACHMENT_BYTES, read_attached
from cortex_eval.datasets.compare import ChangedCase, DatasetDiff, compare_datasets
from cortex_eval.datasets.csv_rows import RawRow, neutralised, restored
from cortex_eval.datasets.draft import agreed_label
from cortex_eval.datasets.files import CaseReader, CaseRow, cases_from, read_cases, read_rows
from cortex_eval.datasets.opening import Format, format_of
from cortex_eval.datasets.problems import MAX_CELL_BYTES, MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS, shown_name
from cortex_eval.datasets.select import QUICK_PER_CATEGORY, CaseFacts, Chosen, Facts, Selection, quick
from cortex_eval.datasets.validate import Validation, validate_cases, validate_file
from cortex_eval.datasets.version import VersionHash, dataset_version
from cortex_eval.datasets.write import atomic_file, canonical_row, write_cases

__all__ = [
    "MAX_ATTACHMENT_BYTES",
    "MAX_CELL_BYTES",
    "MAX_COLUMNS",
    "MAX_FILE_BYTES",
    "MAX_ROWS",
    "QUICK_PER_CATEGORY",
    "CaseFacts",
    "CaseReader",
    "CaseRow",
    "ChangedCase",
    "Chosen",
    "DatasetDiff",
    "Facts",
    "Format",
    "RawRow",
    "Selection",
    "Validation",
    "VersionHash",
    "agreed_label",
    "atomic_file",
    "canonical_row",
    "cases_from",
    "compare_datasets",
    "dataset_version",
    "format_of",
    "neutralised",
    "quick",
    "read_attached",
    "read_cases",
    "read_rows",
    "restored",
    "shown_name",
    "validate_cases",
    "validate_file",
    "write_cases",
]
