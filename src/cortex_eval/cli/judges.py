"""`cortex judges`: which judges there are, and how they compare with people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cortex_eval.cli.judged import Comparison, compare_file, compare_run, judge_facts, judges_text
from cortex_eval.cli.options import config_option, json_option, open_project, out, print_json

file_type = click.Path(path_type=Path)
LABELS_HELP = "What people said: id, label; or id, rater, label; or id and a column for each person."
COLUMN_HELP = "The column of the labels, when it is called otherwise; may be given again, for each person."
DRAWN_HELP = "How the labelled items came about; the corrected score needs them drawn at random."
TUNED_HELP = "Whether these labels were used to choose the prompt, the model or a threshold."


@click.group()
def judges() -> None:
    """List judges, and compare them with people."""


@judges.command("list")
@config_option
@json_option
def list_judges(config: Path | None, as_json: bool) -> None:
    """Judges, their prompts with versions, and the models that the project names."""
    facts = judge_facts(config)
    if as_json:
        print_json(facts)
    else:
        out(judges_text(facts))


@judges.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--scorer", help="The scorer of the run.")
@click.option("--labels", required=True, type=file_type, help=LABELS_HELP)
@click.option("--scores", type=file_type, help="Scores from a file in place of a run: id, score.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Scores pass at or above it (default: as in the run).")
@click.option("--positive", multiple=True, help="A label that means pass, others mean fail; may be given again.")
@click.option("--label-range", type=(float, float), default=(0.0, 1.0), help="The scale that people rated on: 1 5.")
@click.option("--score-range", type=(float, float), default=(0.0, 1.0), help="The scale of the scores in a file.")
@click.option("--label-column", multiple=True, help=COLUMN_HELP)
@click.option("--score-column", default="", help="The column of the scores, when it is called otherwise.")
@click.option("--drawn", type=click.Choice(["random", "chosen", "unknown"]), default="unknown", help=DRAWN_HELP)
@click.option("--tuned", type=click.Choice(["no", "yes", "unknown"]), default="unknown", help=TUNED_HELP)
@config_option
@json_option
def calibrate(run_id: str | None, config: Path | None, as_json: bool, **given: Any) -> None:  # Any: the options above
    """Compare a scorer of RUN, or a file of scores, with what people said.

    Shows agreement, bias, the threshold that fits best, and the score corrected by prediction-powered inference.
    """
    asked = Comparison(**given)
    if run_id is None:
        found = compare_file(asked)
    else:
        with open_project(config) as here:
            found = compare_run(here.store, run_id, asked)
    if as_json:
        print_json(found.facts)
    else:
        out(found.text)
