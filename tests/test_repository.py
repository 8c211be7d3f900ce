"""The repository itself: what must not lie in it, and what a stranger must find there."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[1]
LOCKS = ("core", "all", "dev", "build")

ADDRESSES = re.compile(
    r"(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|yarnpkg\.com)/|^\s*(?:-i|--(?:extra-)?index-url|--find-links)\b",
    re.MULTILINE,
)
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:work|root|farm|opt/pypi|opt/wheels)/[A-Za-z.]|[A-Z]:\\Users\\\w")
FOREIGN_FILES = re.compile(
    r"\.min\.(?:js|css)$|\.(?:woff2?|ttf|otf|eot)$|(?:^|/)(?:uv|poetry|package)[-.]lock(?:\.json)?$"
)
LONGEST_LINE_BY_HAND = 2000
PIN = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;]+)[^#\n]*?(?:;(?P<marker>[^\\\n]+))?\\$")


def files() -> list[Path]:
    """Every file that is, or is about to be, part of the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode:
        pytest.skip("not a git checkout: nobody can say which files belong to it")
    paths = (REPOSITORY / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def texts() -> dict[str, str]:
    """Path in the repository → text, for everything that is text."""
    found = {}
    for path in files():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            found[path.relative_to(REPOSITORY).as_posix()] = data.decode("utf-8", "replace")
    return found


def has_minified_lines(name: str, text: str) -> bool:
    return name.endswith((".js", ".css")) and any(len(line) > LONGEST_LINE_BY_HAND for line in text.splitlines())


def read_lock(text: str) -> dict[str, dict[str, int]]:
    """Name → pinned version and marker → how many hashes it has; anything else in the file is an error."""
    pins: dict[str, dict[str, int]] = {}
    hashes: dict[str, int] = {}
    key = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if found := PIN.match(line):
            hashes = pins.setdefault(canonicalize_name(found["name"]), {})
            key = f"{found['version']};{(found['marker'] or '').strip()}"
            hashes[key] = 0
        elif re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line) and key:
            hashes[key] += 1
        else:
            raise AssertionError(f"line {number} is neither a pinned version nor a hash: {line!r}")
    return pins


def lock(name: str) -> dict[str, dict[str, int]]:
    return read_lock((REPOSITORY / "requirements" / f"{name}.txt").read_text("utf-8"))


def project() -> dict[str, list[str]]:
    """What pyproject.toml asks for, by lock file; an extra of our own stands for what is in it."""
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    core = wanted["project"]["dependencies"]
    extras = [each for extra in wanted["project"]["optional-dependencies"].values() for each in extra]
    every = [*core, *(each for each in extras if not each.startswith("cortex-eval"))]
    return {"core": core, "all": every, "dev": [*every, *wanted["dependency-groups"]["dev"]]}


def test_no_file_names_a_registry_or_an_index() -> None:
    assert [name for name, text in texts().items() if ADDRESSES.search(text)] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert [name for name, text in texts().items() if MACHINE_PATHS.search(text)] == []


def test_nothing_minified_and_no_foreign_files() -> None:
    assert [str(path) for path in files() if FOREIGN_FILES.search(path.relative_to(REPOSITORY).as_posix())] == []
    assert [name for name, text in texts().items() if has_minified_lines(name, text)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_pinned_and_has_hashes(name: str) -> None:
    pins = lock(name)
    assert pins
    assert [package for package, hashes in pins.items() if not all(hashes.values())] == []


@pytest.mark.parametrize("narrow", ["core", "all", "build"])
def test_a_package_has_one_version_in_all_lock_files(narrow: str) -> None:
    wide = lock("dev")
    assert [name for name, pins in lock(narrow).items() if wide.get(name, {}).keys() != pins.keys()] == []


@pytest.mark.parametrize("name", ["core", "all", "dev"])
def test_the_lock_files_hold_what_the_project_asks_for(name: str) -> None:
    pins = lock(name)
    stale = []
    for wanted in map(Requirement, project()[name]):
        versions = [key.partition(";")[0] for key in pins.get(canonicalize_name(wanted.name), {})]
        if not versions or not all(wanted.specifier.contains(version, prereleases=True) for version in versions):
            stale.append(f"{wanted} (locked: {versions})")
    assert stale == [], "run make lock"


def test_what_was_dropped_stays_out() -> None:
    dropped = [line for line in (REPOSITORY / "requirements" / "overrides.in").read_text("utf-8").splitlines() if line]
    names = {canonicalize_name(Requirement(line).name) for line in dropped if not line.startswith("#")}
    assert {"sentence-transformers"} <= names
    assert not names & lock("dev").keys()
    assert "torch" not in lock("dev")


def test_the_readme_shows_the_two_commands_that_matter() -> None:
    text = (REPOSITORY / "README.md").read_text("utf-8")
    if not text.strip():
        pytest.skip("the README is not written yet")
    assert [command for command in ("make demo", "make test") if command not in text] == []


def test_the_build_server_runs_what_people_run() -> None:
    script = REPOSITORY / ".ci" / "run"
    assert "\nmake test\n" in script.read_text("utf-8")
    assert "set -euo pipefail" in script.read_text("utf-8")
    assert os.access(script, os.X_OK)
    assert ".ci/run" in (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text("utf-8")


@pytest.mark.parametrize("script", sorted((REPOSITORY / "scripts").glob("*.sh")), ids=lambda path: path.name)
def test_a_script_can_be_run_and_stops_at_its_first_error(script: Path) -> None:
    text = script.read_text("utf-8")
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_make_alone_lists_the_targets_and_builds_nothing() -> None:
    shown = subprocess.run(["make"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  make ([a-z-]+) ", shown, re.MULTILINE))
    assert {"setup", "demo", "test", "check", "bench", "soak", "clean"} <= listed
    assert {"quick", "evaluate", "analyze", "baseline", "test-category"} <= listed


def test_a_category_must_be_named() -> None:
    command = ["make", "--no-print-directory", "-o", "setup", "test-category"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "CATEGORY=" in done.stderr


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (ADDRESSES, "https://" + "pypi" + ".org/simple"),
        (ADDRESSES, "numpy==2\n--index-" + "url https://example.org"),
        (MACHINE_PATHS, 'open("/' + 'root/data.csv")'),
        (FOREIGN_FILES, "static/chart.min.js"),
        (FOREIGN_FILES, "uv.lock"),
    ],
)
def test_what_must_not_be_there_is_seen(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_a_requirement_without_a_hash_and_a_line_with_an_option_are_seen() -> None:
    assert read_lock("a==1 \\\n    # via b\n") == {"a": {"1;": 0}}
    assert read_lock(f"a==1 ; python_version < '4' \\\n    --hash=sha256:{'0' * 64}\n") == {
        "a": {"1;python_version < '4'": 1}
    }
    for line in ("--find-" + "links wheels", "a>=1", "a==1"):
        with pytest.raises(AssertionError, match="neither"):
            read_lock(line)
    assert has_minified_lines("a.js", "x" * 3000)
