"""Plugins: the files and modules that a project file names, imported so that they can register what they hold."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from cortex_eval.config.document import Document
from cortex_eval.core import InputError, Problem, shorten


def load_plugins(document: Document, names: Sequence[str], root: Path) -> list[Problem]:
    """Import each plugin; what goes wrong is told with the plugin's name and the first line of the error."""
    problems: list[Problem] = []
    if names and str(root.absolute()) not in sys.path:
        sys.path.append(str(root.absolute()))  # last: a project's `json.py` must not stand in for the library's
    for number, name in enumerate(names):
        try:
            _load(name, root)
        except InputError as error:
            problems.append(document.problem(("plugins", number), f"plugin {name}: {error}"))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin is foreign code
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            message = f"plugin {name} cannot be loaded: {shorten(said)}{_place(error, root / name)}"
            problems.append(document.problem(("plugins", number), message))
    return problems


def _load(name: str, root: Path) -> None:
    if not name.endswith(".py"):
        importlib.import_module(name)
        return
    file = root / name
    if not file.is_file():
        raise InputError(f"there is no file {file}.")
    spec = importlib.util.spec_from_file_location(f"cortex_plugin_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up here
    spec.loader.exec_module(module)


def _place(error: BaseException, file: Path) -> str:
    """The line of the plugin that the error came from, if it is known."""
    line, trace = getattr(error, "lineno", None), error.__traceback__
    while trace is not None and not isinstance(error, SyntaxError):
        if trace.tb_frame.f_code.co_filename == str(file.absolute()):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" ({file}:{line})" if line else ""
