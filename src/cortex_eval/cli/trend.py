"""`cortex trend` and `cortex runs import`: how suites did over their runs, also over those made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cortex_eval.cli.options import advised, config_option, counted, hint, json_option, open_project, out, print_json
from cortex_eval.core import InputError, did_you_mean

if TYPE_CHECKING:  # its room is imported when it is needed
    from cortex_eval.past import Kept

SAID = {"new": "imported", "richer": "imported anew, with more than before", "known": "known already"}
OWN = "a run of this store, nothing to import"


@click.command()
@click.argument("suite", required=False)
@click.option("--service", "--target", "target", default="", help="Only runs against this service.")
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="So many runs of each line.")
@click.option("--metric", metavar="NAME", help="Show this figure alone, such as intent, latency_ms or stability.")
@config_option
@json_option
def trend(suite: str | None, target: str, last: int, metric: str | None, config: Path | None, as_json: bool) -> None:
    """How SUITE did over its runs: score, pass rate, latency, errors, and how many verdicts stayed the same."""
    from cortex_eval.past import trends_of
    from cortex_eval.reports import check_metric, render_trend

    with open_project(config) as here:
        found = trends_of(here.store, suite=suite or "", target=target, last=last)
        known = {each.suite for each in (found or trends_of(here.store, last=1))}
    if not found and (suite or target):
        raise InputError(f"There are no finished runs of {suite or target}. {did_you_mean(suite or target, known)}")
    if metric is not None and found:
        check_metric(found, metric)
    if as_json:
        print_json({"trends": [each.to_dict() for each in found]})
    elif not found:
        hint(f"There are no finished runs yet. Start one: {advised('cortex run')}")
    else:
        out("\n\n".join(render_trend(each, metric=metric) for each in found))


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--suite", default="", help="The suite of runs that name none (default: the only one of the project).")
@click.option("--service", "--target", "target", default="", help="Their service (default: the suite's).")
@config_option
@json_option
def import_runs(files: tuple[Path, ...], suite: str, target: str, config: Path | None, as_json: bool) -> None:
    """Take runs that were made elsewhere into the history: evaluation, baseline and report files, JSON lines."""
    from cortex_eval.past import import_history

    default_suite, default_target = _defaults(config, suite)
    with open_project(config, create=True) as here:
        kept = import_history(here.store, files, suite=default_suite, target=target or default_target)
    if as_json:
        print_json([_facts(each) for each in kept])
        return
    for each in kept:
        point = each.past.point
        out(f"{point.run_id}  {point.suite} → {point.target}  {SAID.get(each.outcome, OWN)}")
    fresh = sum(each.outcome in ("new", "richer") for each in kept)
    hint(f"{counted(fresh, 'run')} imported. See them: {advised('cortex trend')}")


@click.command()
@click.argument("run_id", metavar="RUN")
@config_option
@json_option
def forget(run_id: str, config: Path | None, as_json: bool) -> None:
    """Remove an imported run from the history. RUN is its whole id."""
    with open_project(config) as here:
        count = here.store.history.forget(run_id)
        known = {each.run_id for each in here.store.history.imported()}
    if not count:
        raise InputError(f"There is no imported run {run_id!r}. {did_you_mean(run_id, known)}")
    if as_json:
        print_json({"id": run_id, "forgotten": count})
    else:
        out(f"Run {run_id} is forgotten.")


def _defaults(config: Path | None, suite: str) -> tuple[str, str]:
    """The suite and the target of runs that state none, as far as the project file leaves no choice."""
    from cortex_eval.config import DEFAULT_FILES, load_project

    if config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        return suite, "imported"
    model = load_project(config, keep_problems=True).model
    name = suite or (next(iter(model.suites)) if len(model.suites) == 1 else "")
    asked = model.suites.get(name)
    services = list(asked.services or filter(None, [asked.service])) if asked else []
    services = services or list(model.services)
    return name, services[0] if len(services) == 1 else "imported"


def _facts(kept: Kept) -> dict[str, object]:
    point = kept.past.point
    return {
        "run_id": point.run_id,
        "suite": point.suite,
        "target": point.target,
        "finished": point.finished,
        "outcome": kept.outcome,
        "verdicts": len(kept.past.verdicts),
    }
