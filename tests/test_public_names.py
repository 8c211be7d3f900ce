"""What a room hands out is what its `__all__` says: nothing missing, nothing more, and all of it there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "cortex_eval"


def _dotted(front: Path) -> str:
    return ".".join(front.parent.relative_to(PACKAGE.parent).parts)


FRONTS = {_dotted(path): path for path in sorted(PACKAGE.rglob("__init__.py"))}


def names_in_all(text: str) -> list[str]:
    """What `__all__` lists, read without importing anything."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    return []


def names_bound(text: str) -> set[str]:
    """The public names that a front imports or defines, also those of a lazy import's table of places.

    Whole modules (`import sys`, `from importlib import import_module`) are tools of the front, not goods of it.
    """
    bound: set[str] = set()
    for node in _statements(ast.parse(text).body):
        match node:
            case ast.ImportFrom(module="cortex_eval.core", names=[ast.alias(name="first_use")]):
                pass  # how a lazy front finds its names
            case ast.ImportFrom(level=level, module=module) if level or (module or "").startswith("cortex_eval"):
                bound |= {alias.asname or alias.name for alias in node.names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys)) if name.startswith("_"):
                bound |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
            case ast.Assign(targets=targets):
                bound |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                bound.add(name)
    return {name for name in bound if not name.startswith("_")}


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module, with those under `if TYPE_CHECKING:` taken out of it."""
    return [inner for node in body for inner in (_statements(node.body) if isinstance(node, ast.If) else [node])]


def in_order(names: list[str]) -> list[str]:
    """CONSTANTS, Classes, then the rest, each by name and its numbers by size: the order that ruff keeps."""

    def place(name: str) -> tuple[int, list[str | int]]:
        kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
        return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    return sorted(names, key=place)


@pytest.mark.parametrize("front", FRONTS)
def test_all_lists_exactly_what_the_room_hands_out(front: str) -> None:
    text = FRONTS[front].read_text("utf-8")
    listed = {name for name in names_in_all(text) if not name.startswith("_")}
    assert listed == names_bound(text)


@pytest.mark.parametrize("front", FRONTS)
def test_all_is_sorted_and_names_nothing_twice(front: str) -> None:
    names = names_in_all(FRONTS[front].read_text("utf-8"))
    assert names == in_order(list(dict.fromkeys(names)))


@pytest.mark.parametrize("front", FRONTS)
def test_every_name_of_all_is_there(front: str) -> None:
    room = import_module(front)
    names = names_in_all(FRONTS[front].read_text("utf-8"))
    assert [name for name in names if not hasattr(room, name)] == []


def test_the_package_gives_its_names_to_a_star_import_and_knows_no_others() -> None:
    package = import_module("cortex_eval")
    if not (names := getattr(package, "__all__", [])):
        pytest.skip("the package hands out no names yet")
    assert set(names) <= set(dir(package))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


def test_no_public_name_of_the_package_is_a_room_too() -> None:
    """Importing a room binds its name on the package: a lazy name that is the same gives one or the other by chance."""
    rooms = {path.stem for path in PACKAGE.iterdir()}
    assert sorted(rooms & set(names_in_all(FRONTS["cortex_eval"].read_text("utf-8")))) == []


def homes_of(front: str) -> dict[str, str]:
    """The table of a front that imports its names when they are first used; empty for any other."""
    homes: dict[str, str] = getattr(import_module(front), "_HOMES", {}) if front != "cortex_eval" else {}
    return homes


@pytest.mark.parametrize("front", FRONTS)
def test_a_lazy_front_finds_each_name_where_type_checkers_do(front: str) -> None:
    if not (homes := homes_of(front)):
        return
    tree = ast.parse(FRONTS[front].read_text("utf-8"))
    told = {
        alias.name: (node.module or "").removeprefix(f"{front}.")
        for node in _statements(tree.body)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{front}.")
        for alias in node.names
    }
    assert {name: told[name] for name in homes} == homes


@pytest.mark.parametrize("front", FRONTS)
def test_no_lazy_name_of_a_room_is_a_file_of_it_too(front: str) -> None:
    """Importing the file binds its name on the room: one would get the file or what is in it, by chance."""
    files = {path.stem for path in FRONTS[front].parent.iterdir()}
    assert sorted(files & set(homes_of(front))) == []


def test_importing_the_package_imports_none_of_the_heavy_ones() -> None:
    heavy = [
        "aiohttp",
        "alembic",
        "numpy",
        "onnxruntime",
        "pyarrow",
        "pydantic",
        "regex",
        "rich",
        "sacrebleu",
        "sqlalchemy",
    ]
    assert all(find_spec(name) for name in heavy[:3]), "the names to look for are not those of installed packages"
    code = f"import cortex_eval, sys; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_name_that_is_not_listed_a_wrong_order_and_a_lazy_name_are_seen() -> None:
    text = "from cortex_eval.core import Case, find_case\nimport sys\nLIMIT = 3\n_hidden = 1\n"
    assert names_bound(text) == {"Case", "LIMIT", "find_case"}
    assert names_bound("if TYPE_CHECKING:\n    from .api import evaluate\n") == {"evaluate"}
    assert names_bound('_PLACES = {"evaluate": "cortex_eval.api"}\n') == {"evaluate"}
    assert in_order(["find_case", "Case10", "Case9", "LIMIT"]) == ["LIMIT", "Case9", "Case10", "find_case"]
    assert names_in_all('__all__ = ["b", "a"]') == ["b", "a"]
