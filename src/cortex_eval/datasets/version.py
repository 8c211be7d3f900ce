"""The version of a dataset: a hash over its cases, whatever file they came in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cortex_eval.core import Case, to_json


class VersionHash:
    """A version in the making: cases go in one by one, in order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, canonical: bytes) -> None:
        """Take in the canonical JSON of the next case."""
        self._hash.update(canonical)
        self._hash.update(b"\n")

    @property
    def version(self) -> str:
        """The version of the cases taken in so far."""
        return self._hash.hexdigest()


def dataset_version(cases: Iterable[Case]) -> str:
    """The version of these cases in this order."""
    version = VersionHash()
    for case in cases:
        version.add(to_json(case.at(0), sort_keys=True))
    return version.version
