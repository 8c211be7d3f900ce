"""The documentation is true: its examples run, its commands exist, its links lead somewhere, nothing is left out."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

import click
import pytest

from cortex_eval.control import GRACE_S
from cortex_eval.net import Limits, patience
from cortex_eval.net.client import TRANSIENT_STATUS

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
PAGES = sorted([*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), *(REPOSITORY / "requirements").glob("*.md")])

FENCE = re.compile(r"(?ms)^(?P<indent> *)(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^ *(?P=fence) *$")
LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#* *$", re.MULTILINE)
END_OF_COMMAND = {"|", "||", "&&", "&", ";", ">", ">>", "2>", "<"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    info: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        indent = len(found["indent"])
        lines = [line[indent:] if line[:indent].isspace() else line for line in found["body"].splitlines()]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, tuple(found["info"].split()), "\n".join(lines) + "\n")


def blocks(language: str) -> list[Block]:
    found = (block for page in PAGES for block in blocks_of(page, page.read_text("utf-8")))
    return [block for block in found if block.info[:1] == (language,)]


def without_blocks(text: str) -> str:
    return FENCE.sub("", text)


def headings(text: str) -> list[str]:
    return [found["text"] for found in HEADING.finditer(without_blocks(text))]


def anchors(text: str) -> set[str]:
    """The places on a page that a link can name, as code hosts make them from headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(text)}


def names(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def page(pattern: str) -> str:
    """The text of the pages of this name; skips when nobody has written one."""
    found = sorted(DOCS.glob(pattern))
    if not found:
        pytest.skip(f"docs/{pattern} is not written yet")
    return "\n".join(path.read_text("utf-8") for path in found)


def command_group() -> click.Group:
    """The click group behind `cortex`, also when the entry point wraps it to map exit codes."""
    try:
        import cortex_eval.cli as room
    except ImportError as error:
        if error.name and not error.name.startswith("cortex_eval"):
            raise
        pytest.skip("the command line is not written yet")
    if isinstance(main := getattr(room, "main", None), click.Group):
        return main
    modules = [room, *(module for name, module in sys.modules.items() if name.startswith("cortex_eval.cli."))]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, click.Group)]
    inner = {id(command) for group in found for command in group.commands.values()}
    for group in found:
        if id(group) not in inner:
            return group
    pytest.skip("the command line has no group of commands yet")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with all the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif not command.hidden:
            yield " ".join([*path, name]), command


def check_call(command: click.Command, words: list[str], parent: click.Context | None = None) -> str:
    """What is wrong with these words after a command, or ""; nothing is run and no file is looked for."""
    context = click.Context(command, info_name=command.name, parent=parent)
    try:
        given, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    for option in (each for each in command.params if isinstance(each.type, click.Choice)):
        value = given.get(option.name or "")
        try:
            for word in value if isinstance(value, list | tuple) else [value]:
                if isinstance(word, str):
                    option.type.convert(word, option, context)
        except click.BadParameter as error:
            return error.format_message()
    for argument in (each for each in command.params if isinstance(each, click.Argument) and each.required):
        value = given.get(argument.name or "")
        if not (isinstance(value, str | list | tuple) and value) and "--help" not in words:
            return f"{argument.make_metavar(context)} is missing"
    if not isinstance(command, click.Group):
        return f"too much: {' '.join(rest)}" if rest else ""
    if not rest:
        return ""
    inner = command.get_command(context, rest[0])
    return check_call(inner, rest[1:], context) if inner else f"there is no command {rest[0]!r}"


def calls(block: Block, program: str) -> Iterator[list[str]]:
    """The words after each `program` in the lines that begin with `$ `."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if not line.startswith("$ "):
            continue
        call: list[str] = []
        for word in [*shlex.split(line[2:], comments=True), ";"]:
            if word not in END_OF_COMMAND:
                call.append(word)
                continue
            call = list(dropwhile(lambda word: re.fullmatch(r"\w+=.*", word), call))  # settings before the program
            if call and call[0].rpartition("/")[2] == program:
                yield call[1:]
            call = []


def broken_links(page: Path, text: str) -> list[str]:
    problems = []
    for found in LINK.finditer(without_blocks(text)):
        path, _, anchor = found["to"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = page.parent / path if path else page
        if not target.exists():
            problems.append(f"{page.name}: {path} is not there")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
            problems.append(f"{page.name}: {path} has no heading #{anchor}")
    return problems


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_a_python_example_compiles(block: Block) -> None:
    compile("\n" * block.line + block.text, str(block), "exec")


@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in blocks("python") if "no-run" not in block.info], ids=str)
def test_a_python_example_runs(block: Block, tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text(block.text, "utf-8")

    done = subprocess.run([sys.executable, example.name], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.parametrize("block", blocks("console"), ids=str)
def test_the_commands_shown_exist(block: Block) -> None:
    shown = list(calls(block, "cortex"))
    group = command_group() if shown else None
    problems = {shlex.join(call): check_call(group, call) for call in shown if group}
    assert {call: problem for call, problem in problems.items() if problem} == {}


@pytest.mark.parametrize("block", blocks("console"), ids=str)
def test_the_make_targets_shown_exist(block: Block) -> None:
    known = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {word for call in calls(block, "make") for word in call if "=" not in word}
    assert shown <= known


def built_in(room: str, registry: str) -> list[str]:
    """What a fresh process has registered: other tests add plugins of their own to this one."""
    code = f"from cortex_eval.{room} import {registry}; print(*{registry}, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_scorer_has_a_heading() -> None:
    text = "\n".join(headings(page("scorers*.md")))
    found = built_in("scoring", "scorers")
    assert len(found) >= 10
    assert [name for name in found if not names(name, text)] == []


def test_every_kind_of_target_has_a_heading() -> None:
    text = "\n".join(headings(page("targets*.md")))
    found = built_in("targets", "targets")
    assert len(found) >= 4
    assert [kind for kind in found if not names(kind, text)] == []


def test_every_command_and_option_is_documented() -> None:
    text = page("commands.md")
    missing = []
    for path, command in commands(command_group()):
        if not names(f"cortex {path}", text):
            missing.append(path)
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        missing += [f"{path} {each.opts[-1]}" for each in options if not any(names(opt, text) for opt in each.opts)]
    assert missing == []


def test_every_dependency_has_its_reason() -> None:
    text = page("dependencies.md")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    wanted += [each for extra in project["project"]["optional-dependencies"].values() for each in extra]
    packages = {re.match(r"[\w-]+", each)[0] for each in wanted} - {"cortex-eval"}  # type: ignore[index]  # always a name
    assert sorted(name for name in packages if not names(name, text)) == []


MAKERS_OF_ERRORS = {
    "TargetError",
    "JudgeError",
    "Unavailable",
    "StorageError",
    "Passing",
    "no_verdict",
    "_no_verdict",
    "_Flaw",
}
ALSO = {"_ended", "__init__"}
"""Methods that hand a kind on: of a line that ends, of an error with a kind of its own."""


def kinds_of_errors() -> set[str]:
    """Every kind that is named where one of our errors is made."""
    found = set()
    for path in (REPOSITORY / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _called(node) in MAKERS_OF_ERRORS | ALSO:
                given = [*node.args, *(each.value for each in node.keywords if each.arg == "kind")]
                found |= {each.value for each in given if isinstance(each, ast.Constant)}
    return {each for each in found if isinstance(each, str) and re.fullmatch(r"[a-z_]+", each)}


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def test_every_kind_of_error_is_explained() -> None:
    explained = set(re.findall(r"`([a-z_]+)`", page("patience.md")))
    kinds = kinds_of_errors() - {"stopped"}  # told to those who wait when a run ends, and to nobody else
    assert {"rate_limited", "out_of_range", "target_auth", "budget", "lost_lease", "database_down"} <= kinds
    assert sorted(kinds - explained) == []


def test_the_figures_on_patience_are_those_of_the_code() -> None:
    text = " ".join(page("patience.md").split())
    usual, call = patience.Patience(), Limits()
    figures = [
        f"After {patience.BREAK_AFTER} failures in a row, by whichever cases",
        f"then every {usual.probe_every_s:g} s",
        f"After {patience.REFUSED_AFTER} answers of 401 or 403 in a row",
        f"at most {patience.FIRST_CALLS} calls are made at once until the first one is answered well",
        f"one after the other, within {patience.SPREAD_S:g} s or the time which that answer took",
        f"connect {call.connect_s:g} s, silence {call.idle_s:g} s, all of it {patience.TIMEOUT_S:g} s",
        f"More than {call.largest // 1024**2} MiB, unpacked, is not read",
        f"({patience.LONGEST_DELAY_S:g} s at most, a quarter more or less by chance)",
        f"After `pause_limit_seconds` ({usual.pause_limit_s:g}; 0: at once)",
        f"| `retry_count` | `execution` | {usual.retries} |",
        f"| `retry_delay_seconds` | `execution` | {usual.retry_delay_s:g} |",
        f"waits for its calls in flight, {GRACE_S:g} s at most",
        ", ".join(map(str, sorted(TRANSIENT_STATUS))),
    ]
    assert [each for each in figures if each not in text] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_links_within_the_repository_lead_somewhere(path: Path) -> None:
    assert broken_links(path, path.read_text("utf-8")) == []


@click.group()
def _sample() -> None: ...


@_sample.command("run")
@click.argument("suite", required=False)
@click.option("--tag", multiple=True)
@click.option("-f", "--format", type=click.Choice(["html", "json"]))
def _sample_run(suite: str, tag: str, format: str) -> None: ...  # noqa: A002


@_sample.command("rescore")
@click.argument("run")
def _sample_rescore(run: str) -> None: ...


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("$ cortex rescore latest", True),
        ("$ cortex rescore --help", True),
        ("$ cortex rescore", False),
        ("$ cortex run triage --tag a --tag b -f html > out.html", True),
        ("$ A=1 .venv/bin/cortex run | head  # a remark", True),
        ("$ cortex run \\\n    --tag a", True),
        ("$ cortex walk", False),
        ("$ cortex run --tags a", False),
        ("$ cortex run --tag", False),
        ("$ cortex run -f pdf", False),
        ("$ cortex run triage again", False),
        ("$ true && cortex walk", False),
    ],
)
def test_a_wrong_command_is_seen(line: str, is_right: bool) -> None:
    (block,) = blocks_of(REPOSITORY / "README.md", f"```console\n{line}\nwhat it prints\n```\n")
    (call,) = calls(block, "cortex")
    assert (check_call(_sample, call) == "") is is_right


def test_a_broken_link_is_seen_and_one_in_a_block_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two `words`, here\n", "utf-8")
    text = "[a](page.md#two-words-here) [b](https://example.org/x) [c](#two-words-here)\n```\n[d](gone.md)\n```\n"
    assert broken_links(page, text) == []
    assert len(broken_links(page, "[a](gone.md) [b](page.md#elsewhere)")) == 2
