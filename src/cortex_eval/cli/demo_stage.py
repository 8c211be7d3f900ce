"""Playing suites of sample projects for `cortex demo`, and keeping what came of them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from cortex_eval.analysis import Report, Versus, compare_runs
from cortex_eval.cli.options import hint, out
from cortex_eval.cli.playing import play
from cortex_eval.cli.project import make_project
from cortex_eval.cli.shown import gate_of
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.demo import KEY, SAMPLES, Played, compare_with_list, read_weaknesses, wrapped
from cortex_eval.outcome import name_run
from cortex_eval.reports import from_here
from cortex_eval.storage import Store

EXIT_EXECUTION, EXIT_NOT_AS_DOCUMENTED = 3, 1


def prepare(name: str, folder: Path) -> None:
    """Copy a sample project, unless one is there already."""
    if not (folder / "cortex.yaml").is_file():
        make_project(name, folder)


class Stage:
    """Plays suites of sample projects one after the other; `played` has what came of them."""

    def __init__(self, *, is_silent: bool) -> None:
        self.played: list[Played] = []
        self.skipped: list[dict[str, str]] = []
        self._is_silent = is_silent

    def say(self, text: str) -> None:
        """Print a result, unless all of them are printed for machines in the end."""
        if not self._is_silent:
            out(text)

    def play(
        self,
        name: str,
        folder: Path,
        suites: Sequence[str],
        *,
        version: str = "1",
        sampled: Sequence[str] = (),
        in_full: bool = False,
        baseline: str | None = None,
    ) -> Iterator[Played]:
        """Play these suites against the project's sample service; `in_full`: with the summary of each run.

        With `baseline`, what was played of a suite before gets this name, and the run is held against it.
        A suite that lacks an engine is left out, and it is said. Ends the command when it is asked to stop.
        """
        sample = SAMPLES[name]
        prepare(name, folder)
        with sample.start(version=version) as service:
            if service is not None:
                os.environ["CORTEX_DEMO_URL"], os.environ["CORTEX_API_KEY"] = service.url, KEY
            if in_full:
                up = "Recorded replies: nothing is called" if service is None else f"Sample service on {service.url}"
                hint(f"{up}; the cases are in {from_here(folder / 'datasets')}.\n")
            for suite in suites:
                if missing := sample.missing_for(suite):
                    self.skipped.append({"project": name, "suite": suite, "reason": missing})
                    self.say("\n".join(wrapped(f"{suite} is left out: {missing}", "  ")))
                    continue
                is_quiet, is_sample = self._is_silent or not in_full, suite in sampled
                if baseline is not None:
                    self._keep_baseline(name, folder, suite, baseline)
                played = _play(
                    name, folder, suite, version=version, is_sample=is_sample, is_quiet=is_quiet, baseline=baseline
                )
                self.played.append(played)
                yield played

    def _keep_baseline(self, name: str, folder: Path, suite: str, baseline: str) -> None:
        before = next(each for each in self.played if (each.project, each.suite) == (name, suite))
        with Store(load_project(folder / "cortex.yaml").store) as store:
            name_run(store, before.reports[0], baseline)

    def compare_versions(self, name: str, folder: Path) -> Versus:
        """The two versions of a project that were played, case by case."""
        runs = [report.run for each in self.played if each.project == name for report in each.reports]
        with Store(load_project(folder / "cortex.yaml").store) as store:
            return compare_runs(
                runs,
                lambda run, with_cases: store.results.read(run.id, with_cases=with_cases),
                gate=gate_of(runs[-1]),
            )

    def document(self) -> dict[str, Any]:  # Any: JSON
        """All of it, for machines."""
        return {
            "as_documented": all(each.as_documented for each in self.played),
            "runs": [facts for each in self.played for facts in each.facts()],
            "skipped": self.skipped,
        }

    @property
    def exit_code(self) -> int:
        """3 when a run came to nothing, 1 when one was not as documented, else 0."""
        if any(report.exit_code == EXIT_EXECUTION for each in self.played for report in each.reports):
            return EXIT_EXECUTION
        return 0 if all(each.as_documented for each in self.played) else EXIT_NOT_AS_DOCUMENTED


def _play(
    name: str, folder: Path, suite: str, *, version: str, is_sample: bool, is_quiet: bool, baseline: str | None
) -> Played:
    sample = SAMPLES[name]
    project = load_project(folder / "cortex.yaml")
    service = sample.next_target if version == "2" and sample.next_target else None
    request = Request(suite=suite, service=service, is_quick=is_sample, is_offline=True, baseline=baseline)
    plans = make_plans(project, request)
    # ayurmind_2 is the next version of ayurmind, and fails the same cases
    listed = [read_weaknesses(folder, suite, plan.target_name.removesuffix("_2")) for plan in plans]
    kept: list[Played] = []

    def keep(reports: Sequence[Report], files: Sequence[Path]) -> None:
        findings = [
            compare_with_list(report.results, rows, version=sample.versions[version], is_sample=is_sample)
            for report, rows in zip(reports, listed, strict=True)
        ]
        kept.append(
            Played(
                project=name,
                suite=suite,
                version=version,
                reports=tuple(reports),
                findings=tuple(findings),
                files=tuple(files),
            )
        )

    with Store(project.store) as store:
        code = play(
            plans,
            store,
            output_dir=project.output_dir,
            suites=project.model.suites,
            is_thorough=True,
            is_quiet=is_quiet,
            again=shlex.join(["cortex", *sys.argv[1:]]),  # its service ends with it, so there is nothing to resume with
            finish=keep,
        )
    if not kept:  # stopped by a signal; how to begin again has been said
        raise click.exceptions.Exit(code)
    return kept[0]
