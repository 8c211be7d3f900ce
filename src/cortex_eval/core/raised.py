"""Where in the user's own code an exception came from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

OURS = str(Path(__file__).parents[1])
INSTALLED = ("site-packages", "dist-packages")


class _Frame(NamedTuple):
    file: str
    line: int
    function: str

    @property
    def is_installed(self) -> bool:
        return any(name in Path(self.file).parts for name in INSTALLED)

    @property
    def is_python_or_ours(self) -> bool:
        is_python = self.file.startswith(("<frozen ", *_standard_library())) and not self.is_installed
        return is_python or self.file.startswith(OURS)


def place_of(error: BaseException) -> str:
    """`bot.py:17 in answer`: the innermost frame that is the user's, else of what they installed; empty when neither.

    A file is named from the folder that the program runs in, or by its name alone.
    """
    frames = [each for each in _frames(error) if not each.is_python_or_ours]
    if not frames:
        return ""
    own = [each for each in frames if not each.is_installed]
    file, line, function = (own or frames)[-1]
    path, here = Path(file), Path.cwd()
    shown = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name
    return f"{shown}:{line} in {function}"


def _frames(error: BaseException) -> Iterator[_Frame]:
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        yield _Frame(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next


@cache
def _standard_library() -> tuple[str, ...]:
    import sysconfig  # not needed by runs in which nothing fails

    return tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
