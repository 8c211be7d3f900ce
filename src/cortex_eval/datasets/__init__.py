"""Datasets: read from files and Python values, checked, versioned, selected from, written and compared."""

from typing import TYPE_CHECKING, Any

from cortex_eval.core import first_use

if TYPE_CHECKING:
    from cortex_eval.datasets.attached import MAX_ATTACHMENT_BYTES, read_attached
    from cortex_eval.datasets.compare import ChangedCase, DatasetDiff, compare_datasets
    from cortex_eval.datasets.compiling import Compiled, compile_pattern, compile_schema
    from cortex_eval.datasets.csv_rows import RawRow, neutralised, restored
    from cortex_eval.datasets.draft import agreed_label
    from cortex_eval.datasets.files import CaseReader, CaseRow, cases_from, read_cases, read_rows
    from cortex_eval.datasets.names import asking_columns, check_fields
    from cortex_eval.datasets.opening import Format, format_of, near_file
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
    "Compiled",
    "DatasetDiff",
    "Facts",
    "Format",
    "RawRow",
    "Selection",
    "Validation",
    "VersionHash",
    "agreed_label",
    "asking_columns",
    "atomic_file",
    "canonical_row",
    "cases_from",
    "check_fields",
    "compare_datasets",
    "compile_pattern",
    "compile_schema",
    "dataset_version",
    "format_of",
    "near_file",
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

_HOMES = {
    "MAX_ATTACHMENT_BYTES": "attached",
    "MAX_CELL_BYTES": "problems",
    "MAX_COLUMNS": "problems",
    "MAX_FILE_BYTES": "problems",
    "MAX_ROWS": "problems",
    "QUICK_PER_CATEGORY": "select",
    "CaseFacts": "select",
    "CaseReader": "files",
    "CaseRow": "files",
    "ChangedCase": "compare",
    "Chosen": "select",
    "Compiled": "compiling",
    "DatasetDiff": "compare",
    "Facts": "select",
    "Format": "opening",
    "RawRow": "csv_rows",
    "Selection": "select",
    "Validation": "validate",
    "VersionHash": "version",
    "agreed_label": "draft",
    "asking_columns": "names",
    "atomic_file": "write",
    "canonical_row": "write",
    "cases_from": "files",
    "check_fields": "names",
    "compare_datasets": "compare",
    "compile_pattern": "compiling",
    "compile_schema": "compiling",
    "dataset_version": "version",
    "format_of": "opening",
    "near_file": "opening",
    "neutralised": "csv_rows",
    "quick": "select",
    "read_attached": "attached",
    "read_cases": "files",
    "read_rows": "files",
    "restored": "csv_rows",
    "shown_name": "problems",
    "validate_cases": "validate",
    "validate_file": "validate",
    "write_cases": "write",
}
"""The file of each name: it is imported when the name is first used."""


def __getattr__(name: str) -> Any:  # Any: whichever name is asked for
    return first_use(__name__, _HOMES, name)
