"""The store: one file that keeps datasets, runs, results, the cache and baselines."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from cortex_eval.storage.database import Database
from cortex_eval.storage.datasets import Datasets
from cortex_eval.storage.kept import Baselines, Cache
from cortex_eval.storage.results import Results
from cortex_eval.storage.runs import Runs


class Store:
    """One store, opened with `with`. Reads are plain calls; what is written while a run goes on is awaited."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = Database(path)
        self.datasets = Datasets(self._db)
        self.runs = Runs(self._db)
        self.results = Results(self._db)
        self.cache = Cache(self._db)
        self.baselines = Baselines(self._db)

    def __enter__(self) -> Self:
        self._db.prepare()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    async def flush(self) -> None:
        """Return when everything saved so far is on disk."""
        await self._db.writer.flush()
