"""The shape of the package: rooms in order, doors only through a room's front, files of one purpose."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "cortex_eval"
ROOT = "cortex_eval"

# A room imports only what stands before it. "" is the package itself: its public names come from the rooms before it.
ROOMS = (
    "core stats net llm datasets targets scoring storage review analysis reports config "
    "control past reuse manifest reask sofar outcome estimate asking engine api"
)
ORDER = (*ROOMS.split(), "", "scale", "testing", "demo", "server", "pytest_plugin", "cli")
SHELLS = ("cli", "server", "pytest_plugin")
ONLY = {"testing": {"core", "net", "targets"}}
"""Rooms that may import less than their place would let them."""
FROM_ANYWHERE = {"__version__"}
"""Names of the package itself that every room may import."""

MOST_LINES = 400
MOST_LINES_OF = {"engine.py": 299}
LONGER_FOR_A_REASON: dict[str, str] = {}
"""Path in the package → why this file may be longer."""
MOST_LINES_IN_A_SHELL = 20

NO_NAME = re.compile(r"(utils?|commons?|misc|helpers?|managers?)$")
SHELL_DOORS = {"command", "group", "get", "post", "put", "patch", "delete", "websocket"}


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: str
    """In the package."""
    name: str
    """Dotted, without the package's own name; "" is the package."""
    tree: ast.Module
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    """Wherever they stand: at the top, in a function, under TYPE_CHECKING."""
    lines: int

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def bound(self) -> set[str]:
        """The names that its imports bind at the top."""
        taken = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return {alias.asname or alias.name for node in taken for alias in node.names}


@dataclass(frozen=True)
class Import:
    """One module of ours taking something from another."""

    source: Module
    target: str
    names: frozenset[str]
    line: int

    @property
    def place(self) -> str:
        return f"{self.source.path}:{self.line}"


def read_modules(package: Path) -> dict[str, Module]:
    modules = {}
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        name = ".".join(file.parent.parts if file.stem == "__init__" else file.with_suffix("").parts)
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        imports = tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
        modules[name] = Module(file.as_posix(), name, tree, imports, lines=len(text.splitlines()))
    return modules


def read_imports(modules: dict[str, Module]) -> Iterator[Import]:
    """Every import of ours."""
    for source in modules.values():
        for node in source.imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top, _, rest = alias.name.partition(".")
                    if top == ROOT:
                        yield Import(source, rest, frozenset(), node.lineno)
            else:
                base = _absolute(source, node)
                if base is None:
                    continue
                names = {alias.name for alias in node.names}
                files = {name for name in names if _is_file(modules, base, name)}
                for name in sorted(files):
                    yield Import(source, f"{base}.{name}".lstrip("."), frozenset(), node.lineno)
                if names - files:
                    yield Import(source, base, frozenset(names - files), node.lineno)


def _is_file(modules: dict[str, Module], base: str, name: str) -> bool:
    """Whether `from base import name` takes a file, and not something of that name that base hands out."""
    return f"{base}.{name}".lstrip(".") in modules and (base not in modules or name not in modules[base].bound)


def _absolute(source: Module, node: ast.ImportFrom) -> str | None:
    """The module that is imported from, without the package's own name; None: not one of ours."""
    if node.level == 0:
        top, _, rest = (node.module or "").partition(".")
        return rest if top == ROOT else None
    parts = source.name.split(".") if source.name else []
    up = node.level - 1 if source.is_package else node.level
    return ".".join([*parts[: len(parts) - up], *(node.module or "").split(".")]).strip(".")


def rooms_out_of_order(modules: dict[str, Module]) -> list[str]:
    problems = [f"{room}: no place in the order of rooms" for room in {m.room for m in modules.values()} - {*ORDER}]
    for each in read_imports(modules):
        here, there = each.source.room, each.target.partition(".")[0]
        if here == there or not {here, there} <= {*ORDER} or (not there and each.names <= FROM_ANYWHERE):
            continue
        if ORDER.index(there) > ORDER.index(here) or there not in ONLY.get(here, {there}):
            problems.append(f"{each.place}: {here or ROOT} may not import {there or ROOT}")
    return problems


def back_doors(modules: dict[str, Module]) -> list[str]:
    return [
        f"{each.place}: import it from {ROOT}.{each.target.partition('.')[0]}, not from {ROOT}.{each.target}"
        for each in read_imports(modules)
        if "." in each.target and each.target.partition(".")[0] != each.source.room
    ]


def import_cycles(modules: dict[str, Module]) -> list[str]:
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for each in read_imports(modules):
        if each.target != each.source.name and not (each.target == "" and each.names <= FROM_ANYWHERE):
            graph[each.source.name].add(each.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" → ".join(name or ROOT for name in reversed(error.args[1]))]
    return []


def long_files(modules: dict[str, Module]) -> list[str]:
    problems = []
    for module in modules.values():
        most = MOST_LINES_OF.get(module.path, MOST_LINES)
        if module.lines > most and module.path not in LONGER_FOR_A_REASON:
            problems.append(f"{module.path}: {module.lines} lines, at most {most}: look for the second purpose")
    return problems


def nameless_files(modules: dict[str, Module]) -> list[str]:
    return [name for name in modules if any(NO_NAME.match(part) for part in name.split("."))]


def missing_docstrings(modules: dict[str, Module]) -> list[str]:
    return [name or ROOT for name, module in modules.items() if not ast.get_docstring(module.tree)]


def more_than_reexports(modules: dict[str, Module]) -> list[str]:
    """What stands in an `__init__.py` beside its sentence, imports, `__all__` and the two hooks of a lazy import."""
    problems = []
    for module in modules.values():
        if not module.is_package:
            continue
        body = module.tree.body[1:] if ast.get_docstring(module.tree) else module.tree.body
        problems += [f"{module.path}:{node.lineno}: not a re-export" for node in body if not _is_reexport(node)]
        takes = any(isinstance(node, ast.ImportFrom) and node.module != "__future__" for node in body)
        if takes and not any(_assigns(node, "__all__") for node in body):
            problems.append(f"{module.path}: no __all__")
    return problems


def _is_reexport(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return all(_is_reexport(inner) for inner in node.body) and not node.orelse
        case ast.FunctionDef(name="__getattr__" | "__dir__") | ast.Expr(value=ast.Constant(value=str())):
            return True
    return _assigns(node, "__all__") or _assigns(node, "__version__") or _is_table_of_names(node)


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _is_table_of_names(node: ast.stmt) -> bool:
    """`_PLACES = {"Case": "cortex_eval.core"}`: where a lazy import finds what it hands out."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Dict):
        return False
    return all(isinstance(value, ast.Constant) for value in [*node.value.keys, *node.value.values])


def thick_shells(modules: dict[str, Module]) -> list[str]:
    problems = []
    for module in modules.values():
        if module.room not in SHELLS:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_door(node):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]  # parsed: set
                if lines > MOST_LINES_IN_A_SHELL:
                    problems.append(f"{module.name}.{node.name}: {lines} lines, at most {MOST_LINES_IN_A_SHELL}")
    return problems


def _is_door(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A command, a route or a pytest hook."""
    doors = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return node.name.startswith("pytest_") or any(
        isinstance(door, ast.Attribute) and door.attr in SHELL_DOORS for door in doors
    )


Rule = Callable[[dict[str, Module]], list[str]]
RULES: tuple[Rule, ...] = (
    rooms_out_of_order,
    back_doors,
    import_cycles,
    long_files,
    nameless_files,
    missing_docstrings,
    more_than_reexports,
    thick_shells,
)


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Module]]:
    gc.disable()  # looking through these many trees for garbage takes longer than all else here
    yield read_modules(PACKAGE)
    gc.enable()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_has_no(rule: Rule, modules: dict[str, Module]) -> None:
    assert rule(modules) == []


def test_every_exception_to_the_length_is_needed_and_has_its_reason(modules: dict[str, Module]) -> None:
    for path, reason in LONGER_FOR_A_REASON.items():
        assert len(reason) > 20, path
        assert len((PACKAGE / path).read_text("utf-8").splitlines()) > MOST_LINES, f"{path} no longer needs it"


DOC = '"""A sentence."""\n'
LONG_COMMAND = f"import click\n@click.command()\ndef run():\n    {'x = 1; '}\n" + "    x = 2\n" * 20
BREAKS: dict[str, tuple[Rule, dict[str, str]]] = {
    "a later room": (rooms_out_of_order, {"core/a.py": "from cortex_eval.stats import mean"}),
    "a later room, in a function": (rooms_out_of_order, {"core/a.py": "def f():\n    import cortex_eval.engine"}),
    "a later room, relative": (rooms_out_of_order, {"core/a.py": "from ..engine import run_plan"}),
    "a room without a place": (rooms_out_of_order, {"extras/a.py": "x = 1"}),
    "the package, from a room": (rooms_out_of_order, {"core/a.py": "from cortex_eval import evaluate"}),
    "more than testing may": (rooms_out_of_order, {"testing.py": "from cortex_eval.storage import Store"}),
    "a shell, from a room": (rooms_out_of_order, {"engine.py": "from cortex_eval.cli import main"}),
    "a room's file": (back_doors, {"core/a.py": "x = 1", "stats/b.py": "from cortex_eval.core.a import x"}),
    "a room's file, as a name": (back_doors, {"core/a.py": "x = 1", "stats/b.py": "from cortex_eval.core import a"}),
    "two files": (import_cycles, {"core/a.py": "from cortex_eval.core.b import x", "core/b.py": "from . import a"}),
    "a cycle hidden in a function": (
        import_cycles,
        {"core/a.py": "import cortex_eval.core.b", "core/b.py": "def f():\n    from cortex_eval.core.a import x"},
    ),
    "its own front": (import_cycles, {"core/__init__.py": "from .a import x", "core/a.py": "from . import y"}),
    "a long file": (long_files, {"core/a.py": "x = 1\n" * 400}),
    "a long spine": (long_files, {"engine.py": "x = 1\n" * 299}),
    "a file with no name": (nameless_files, {"core/utils.py": "x = 1"}),
    "a folder with no name": (nameless_files, {"core/helpers/a.py": "x = 1"}),
    "a function in a front": (more_than_reexports, {"core/__init__.py": "def f(): ..."}),
    "a front without __all__": (more_than_reexports, {"core/__init__.py": "from cortex_eval.core.a import x"}),
    "a long command": (thick_shells, {"cli/run.py": LONG_COMMAND}),
    "a long hook": (thick_shells, {"pytest_plugin.py": "def pytest_configure():\n" + "    x = 1\n" * 21}),
}


def _write(folder: Path, files: dict[str, str], opening: str = DOC) -> dict[str, Module]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(opening + text, "utf-8")
    return read_modules(folder)


@pytest.mark.parametrize("case", BREAKS)
def test_each_rule_sees_it_broken(case: str, tmp_path: Path) -> None:
    rule, files = BREAKS[case]
    assert rule(_write(tmp_path / ROOT, files)) != []


def test_a_module_without_its_sentence_is_seen(tmp_path: Path) -> None:
    assert missing_docstrings(_write(tmp_path / ROOT, {"core/a.py": "x = 1"}, opening="")) == ["core.a"]


def test_what_the_rules_allow_passes_all_of_them(tmp_path: Path) -> None:
    front = 'from cortex_eval.core.a import x\n\n__all__ = ["x"]'
    lazy = '_PLACES = {"x": "cortex_eval.core"}\n"""Where."""\n__all__ = ["x"]\ndef __getattr__(name): ...'
    files = {
        "__init__.py": "from typing import TYPE_CHECKING\n" + lazy + "\nif TYPE_CHECKING:\n    from .core import x",
        "core/__init__.py": front,
        "core/x.py": "",
        "core/a.py": "from cortex_eval import __version__\nfrom cortex_eval.core.b import y\nx = y",
        "core/b.py": "y = 1\n" * 399,
        "engine.py": "from cortex_eval.core import x\nimport cortex_eval.core",
        "testing/__init__.py": "",
        "testing/service.py": "from cortex_eval.core import x",
        "cli/__init__.py": 'from cortex_eval.cli.run import run\n\n__all__ = ["run"]',
        "cli/run.py": "import click\nfrom cortex_eval import x\n@click.command()\ndef run():\n" + "    y = 2\n" * 20,
    }
    modules = _write(tmp_path / ROOT, files)
    assert {rule.__name__: rule(modules) for rule in RULES} == {rule.__name__: [] for rule in RULES}


def test_one_case_can_be_followed_through_the_engine_and_seven_files() -> None:
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text()
    section = page.partition("### Follow one case yourself")[2].partition("\n## ")[0]
    steps = re.findall(r"^\| [\d–] \| `([\w/.]+)` \| (.+) \|$", section, re.MULTILINE)
    files = dict.fromkeys(path for path, _ in steps)
    assert len(files.keys() - {"engine.py"}) == 7
    for path, told in steps:
        source = (PACKAGE / path).read_text()
        named = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", told)}
        assert {name for name in named if not re.search(rf"\b{name}\b", source)} == set(), path
