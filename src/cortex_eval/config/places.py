"""Mistakes of a project file, each with its place in it."""

from __future__ import annotations

from cortex_eval.config.document import Document
from cortex_eval.core import InputError, KeyPath, Problem


class Problems:
    """Collects what is wrong, each with its place in the file."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[Problem] = []

    def at(self, *path: str | int) -> Place:
        """`with problems.at(…):` notes InputErrors raised inside as problems at this place."""
        return Place(self, path)


class Place:
    """A place in the project file; see `Problems.at`."""

    def __init__(self, problems: Problems, path: KeyPath) -> None:
        self.problems, self.path = problems, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, InputError):
            return False
        for each in error.problems:
            path, message = self._placed(each)
            if each.code == "unknown_key" or path not in self.problems.document.unset:  # told already, as what it is
                self.problems.found.append(self.problems.document.problem(path, message))
        return True

    def _placed(self, problem: Problem) -> tuple[KeyPath, str]:
        """The place of a problem, by its field or by the setting that its message begins with."""
        owner = ".".join(map(str, self.path))
        if problem.field:
            return (*self.path, *problem.field.removeprefix(f"{owner}.").split(".")), problem.message
        first, _, rest = problem.message.partition(" ")
        setting = first.rstrip(":").rpartition(".")[2]
        if (*self.path, setting) not in self.problems.document.lines:
            return self.path, f"{owner}: {problem.message}"
        return (*self.path, setting), f"{owner}.{setting}{first[len(first.rstrip(':')) :]} {rest}"
