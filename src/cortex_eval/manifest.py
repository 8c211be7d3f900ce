"""How a run begins, what it remembers of itself, and whether a later plan is still the same one."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from cortex_eval.config import DatasetSource, Plan
from cortex_eval.core import Case, InputError, Problem, RunRecord, __version__, short_repr, to_json
from cortex_eval.datasets import CaseReader, cases_from, near_file, read_cases
from cortex_eval.reuse import plan_reuse
from cortex_eval.storage import Store, this_process

RELEASE_VARIABLE = "CORTEX_RELEASE"


class Begun(NamedTuple):
    """A run that is this process's now."""

    run: RunRecord
    part: int = 1
    """How often somebody began to carry it out, this time included."""

    @property
    def is_accounted(self) -> bool:
        """Whether every earlier part put down what it called; one that was killed could not."""
        return bool(self.run.manifest.get("calls", {}).get("parts", 0) == self.part - 1)

    @property
    def was_cut_off(self) -> bool:
        """Its last owner died at work, or did not wait for its calls: those in flight may have been answered."""
        return not self.is_accounted or bool((self.run.manifest.get("paused") or {}).get("cut_off"))

    def maybe_asked(self, places: Sequence[object], there: Container[object]) -> int:
        """How many cases, in the order of asking, that owner may have begun with: no further than its slots went."""
        if not self.was_cut_off or self.run.manifest.get("parent") is not None:
            return 0
        last = max((number for number, place in enumerate(places, 1) if place in there), default=0)
        return last + int(self.run.manifest["at_once"])


def begin(plan: Plan, store: Store, *, resume: str | None = None, rescore: str | None = None) -> Begun:
    """The run that this plan is carried out as: a new one, or an earlier one that it goes on with."""
    if resume is not None:
        run = store.runs.find(resume)
        is_answered = has_reply(store, run)
        check_same_plan(plan, run, is_answered=is_answered)
        lease = store.runs.take_over(run.id, this_process())
        if not is_answered:
            store.runs.describe(run.id, {**run.manifest, **_identified(plan)})
        return Begun(store.runs.find(run.id), part=lease.epoch)
    parent = store.runs.find(rescore) if rescore is not None else None
    parent_no = None
    notes: tuple[str, ...] = ()
    if parent is not None:
        parent_no, dataset_no, ordinals = store.runs.numbers(parent.id)
        selection = parent.manifest.get("selection", {})
        notes = tuple(parent.manifest.get("dataset_notes", ()))
    else:
        dataset_no, notes = keep_dataset(plan, store)
        ordinals, selection = select_cases(plan, store, dataset_no)
    manifest = describe_run(plan, selection=selection, parent=parent)
    manifest |= {"dataset_notes": list(notes)} if notes else {}
    reuse = None
    if plan.changed_since is not None and parent is None:
        earlier = store.runs.find(plan.changed_since)
        reuse = plan_reuse(
            store,
            earlier,
            manifest=plain(manifest),
            dataset=dataset_no,
            ordinals=ordinals,
            repeats=plan.repeats,
        )
        manifest["reused"] = reuse.described
    run_id = store.runs.create(
        suite=plan.suite,
        target=(plan.target_name, plan.target.kind, plan.target_version),
        dataset_no=dataset_no,
        ordinals=ordinals,
        repeats=parent.repeats if parent else plan.repeats,
        manifest=manifest,
        owner=this_process(),
        parent_id=parent.id if parent else None,
        replies_of=parent_no,
        reused=reuse.results if reuse else None,
    )
    return Begun(store.runs.find(run_id))


class Kept(NamedTuple):
    """A dataset in the store."""

    number: int
    notes: tuple[str, ...] = ()
    """What its reader noted, now or when it was read for an earlier run."""


def keep_dataset(plan: Plan, store: Store) -> Kept:
    """The plan's dataset in the store, which is read and kept if no run has had it yet."""
    source = plan.dataset
    if not isinstance(source, DatasetSource):  # read before it became a plan
        return Kept(store.datasets.keep(plan.dataset_name, cases_from(source))[0], plan.notes)
    digest = file_digest(source)
    known = store.datasets.find(source.name, file_sha256=digest)
    before = store.runs.newest_over(known[0]) if known is not None else None
    if known is not None and before is not None:
        return Kept(known[0], tuple(before.get("dataset_notes", ())))
    reader = read_rows(source)
    number, _ = store.datasets.keep(source.name, reader, file=str(source.path), file_sha256=digest)
    return Kept(number, reader.notes)


def file_digest(source: DatasetSource) -> str:
    """Changes with the file's bytes and with how they are read."""
    digest = hashlib.sha256(to_json([source.fields, source.encoding, __version__], sort_keys=True))
    try:
        with source.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        advice = near_file(source.path) or " Check the path, which may be that of a suite."
        raise InputError(f"There is no dataset file {source.path}.{advice}") from None
    except OSError as error:
        raise InputError(f"The dataset {source.path} cannot be read: {error.strerror}.") from error
    return digest.hexdigest()


def select_cases(plan: Plan, store: Store, dataset_no: int) -> tuple[Sequence[int], Mapping[str, Any]]:
    """The places of the chosen cases in the order of asking, and how they were chosen."""
    if plan.selection.is_everything:
        chosen = plan.selection.everything(store.datasets.size_of(dataset_no))
    else:
        chosen = plan.selection.choose(store.datasets.case_facts(dataset_no))
    described = {
        "asked": plan.selection.described(),
        "matching": chosen.matching,
        "of": chosen.total,
        "chosen": len(chosen.ordinals),
        "probabilities": chosen.probabilities,
        "strata": {name: each._asdict() for name, each in chosen.strata.items()},
    }
    return chosen.ordinals, described


def read_rows(source: DatasetSource | Sequence[Case]) -> CaseReader:
    """The cases of a plan's dataset, to be gone through once."""
    if not isinstance(source, DatasetSource):
        return cases_from(source)
    return read_cases(source.path, fields=source.fields, encoding=source.encoding)


def describe_run(plan: Plan, *, selection: Mapping[str, Any], parent: RunRecord | None) -> dict[str, Any]:
    """The manifest of a run that is about to begin."""
    return {
        **_identified(plan),
        "scored_by": {each.name: each.scores_by for each in plan.scorers if each.scores_by},
        **({"unweighted": lacking} if (lacking := [each.name for each in plan.scorers if each.lacks_weight]) else {}),
        "gate": plan.gate,
        "seed": plan.selection.seed,
        "at_once": plan.at_once,
        "timeout_s": plan.patience.timeout_s,
        "retries": plan.patience.retries,
        "selection": dict(selection),
        "request": dict(plan.request),
        "parent": parent.id if parent else None,
        **({"fix_locations": dict(plan.fix_locations)} if plan.fix_locations else {}),
        "git": (git := _git(Path.cwd())),
        **({"release": _release(plan, git)} if plan.gate.auto == "on-release" else {}),
        "environment": {
            "cortex": __version__,
            "python": platform.python_version(),
            "platform": sys.platform,
            "machine": platform.machine(),
        },
    }


def _identified(plan: Plan) -> dict[str, Any]:
    identity = plan.identity()
    return {**identity, "config_hash": hashlib.sha256(to_json(identity, sort_keys=True)).hexdigest()[:16]}


def has_reply(store: Store, run: RunRecord) -> bool:
    """Whether a reply is stored with a run."""
    return next(store.results.read(run.id, with_cases=False, where="r.reply IS NOT NULL"), None) is not None


def check_same_plan(plan: Plan, run: RunRecord, *, is_answered: bool = True) -> None:
    """Raise InputError that shows what differs when a run cannot be resumed with this plan.

    As long as nothing was answered, the settings of the target may be mended: an address that was wrong, say.
    """
    differences = []
    if _dataset_version(plan, run) != run.dataset.version:
        differences.append(f"the dataset {plan.dataset_name} has changed since the run began")
    before, now = {key: run.manifest.get(key) for key in plan.identity()}, plain(plan.identity())
    if not is_answered and isinstance(before["target"], dict):
        before["target"] = {**before["target"], "settings": now["target"]["settings"]}
    differences += _differences("", before, now)
    if differences:
        listed = "; ".join(differences[:5]) + (f"; and {len(differences) - 5} more" if len(differences) > 5 else "")
        raise InputError(
            Problem(
                code="plan_changed",
                message=f"Run {run.id} cannot be resumed: {listed}. Undo that, or start a new run without --resume.",
            )
        )


def _dataset_version(plan: Plan, run: RunRecord) -> str:
    """The version of the plan's dataset; nothing is read when its file is the very one that the run began with."""
    source = plan.dataset
    if isinstance(source, DatasetSource) and file_digest(source) == run.dataset.file_sha256:
        return run.dataset.version
    reader = read_rows(source)
    for _ in reader.rows():
        pass
    return reader.version


def plain(value: Any) -> Any:  # Any: JSON
    """A manifest, or a part of one, as the store gives it back."""
    return orjson.loads(to_json(value))


def _differences(where: str, before: Any, after: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in sorted({*before, *after}):
            if key != "fingerprint":
                found += _differences(f"{where}.{key}".lstrip("."), before.get(key), after.get(key))
        if not found and before.get("fingerprint") != after.get("fingerprint"):
            found.append(f"{where} has other settings")
        return found
    return [] if before == after else [f"{where} was {short_repr(before)} and is {short_repr(after)}"]


def _release(plan: Plan, git: Mapping[str, Any]) -> str | None:
    """By what this run is one of a release: it was said to be, or the commit has a tag and no file differs from it."""
    if plan.is_release:
        return "--release"
    said = os.environ.get(RELEASE_VARIABLE, "").strip()
    if said:
        return f"{RELEASE_VARIABLE}={said}" if said.casefold() not in ("0", "false", "no") else None
    tags = _git_lines(Path.cwd(), "tag", "--points-at", "HEAD") if git.get("dirty") is False else []
    return f"tag {tags[0]}" if tags else None


def _git(folder: Path) -> dict[str, Any]:
    """The commit that the project is at, and whether files differ from it; empty when there is no repository."""
    lines = _git_lines(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    if lines is None:
        return {}
    facts = dict(line.removeprefix("# branch.").split(" ", 1) for line in lines if line.startswith("# branch."))
    return {
        "commit": facts.get("oid", ""),
        "branch": facts.get("head", ""),
        "dirty": any(not line.startswith("#") for line in lines),
    }


def _git_lines(folder: Path, *arguments: str) -> list[str] | None:
    """What git says of a folder; None when there is no git, or no repository."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None
