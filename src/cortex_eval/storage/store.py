"""The store: one place that keeps datasets, runs, results, the cache and baselines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from cortex_eval.storage.cases import Datasets, Results
from cortex_eval.storage.database import Database
from cortex_eval.storage.history import History
from cortex_eval.storage.kept import Baselines, Cache
from cortex_eval.storage.leases import Leases
from cortex_eval.storage.location import Location, is_url, parse_location, shown_location
from cortex_eval.storage.runs import Runs


class Store:
    """One store, opened with `with`. Reads are plain calls; what is written while a run goes on is awaited.

    A path is an SQLite file, `postgresql://…` a PostgreSQL database. Trouble that may pass is waited out, for at most
    `patience_s` a time. `advise` makes a command as it is to be printed from one that names no project file.
    """

    def __init__(
        self, location: Location, *, patience_s: float | None = None, advise: Callable[[str], str] = str
    ) -> None:
        self.location = parse_location(location) if isinstance(location, str) else location
        self._db = _database(self.location)
        if patience_s is not None:
            self._db.trouble.patience_s = patience_s
        self._leases = Leases(self._db)
        self.datasets = Datasets(self._db)
        self.runs = Runs(self._db, self._leases, advise)
        self.results = Results(self._db, self._leases)
        self.cache = Cache(self._db)
        self.baselines = Baselines(self._db)
        self.history = History(self._db)

    def __enter__(self) -> Self:
        self._db.prepare()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.give_up()  # nobody waits for the rest any more
        try:
            self._db.close()
        finally:
            self._leases.release_all()

    @property
    def path(self) -> Path:
        """The file of an SQLite store."""
        assert isinstance(self.location, Path), f"{self} is not a file"
        return self.location

    @property
    def patience_s(self) -> float:
        """How long trouble that may pass is waited out; 0: it is an error at once."""
        return self._db.trouble.patience_s

    @patience_s.setter
    def patience_s(self, value: float) -> None:
        self._db.trouble.patience_s = value

    @property
    def trouble(self) -> str:
        """What the store waits for right now, such as `storage_full: no space left for …`; '' when all is well."""
        return self._db.trouble.text

    def give_up(self) -> None:
        """Wait no longer, now and later: whoever waits for the store is told that it failed."""
        self._db.trouble.give_up()

    def hurry(self) -> None:
        """If the store waits for something, wait no longer: nobody has the time."""
        if self.trouble:
            self.give_up()

    async def flush(self, run_id: str | None = None) -> None:
        """Return when everything saved so far is on disk; raises when something of this run (None: of any) is not."""
        await self._db.writer.flush(self._leases.of(run_id).fence if run_id is not None else None)

    def __str__(self) -> str:
        return shown_location(self.location)


def _database(location: Location) -> Database:
    if is_url(location):
        from cortex_eval.storage.postgres import PostgresDatabase

        return PostgresDatabase(str(location))
    from cortex_eval.storage.sqlite import SqliteDatabase

    return SqliteDatabase(Path(location))
