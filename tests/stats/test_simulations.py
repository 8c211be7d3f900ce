"""How often the rule for regressions is wrong and how often it is right, over runs that are drawn anew each time."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cortex_eval.analysis import CaseFigures, compare_cases

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))  # for the simulation that the benchmark prints

import gate_power

pytestmark = pytest.mark.slow
REPETITIONS = 1_000


@cache
def found(cell: gate_power.Cell) -> gate_power.Found:
    return gate_power.simulate(cell, repetitions=2 * REPETITIONS if not cell.drop else REPETITIONS)


def named(cell: gate_power.Cell) -> str:
    return f"{cell.name}, drop {cell.drop:.2f} in {cell.falling}"


@pytest.mark.parametrize("cell", gate_power.STILL, ids=named)
def test_without_a_change_hardly_any_run_is_called_a_regression(cell):
    assert found(cell).rate <= 0.05
    assert found(cell).upper <= 0.07


def test_a_drop_of_ten_points_in_three_hundred_cases_is_caught():
    promised = found(gate_power.PROMISED)
    assert promised.discordance <= 0.20
    assert promised.rate >= 0.80


def test_the_strict_gate_cries_wolf_where_the_statistical_one_does_not():
    still, drops = ([found(cell) for cell in cells] for cells in (gate_power.STILL, gate_power.DROPS))
    print("\n" + gate_power.page(still, drops))  # pytest -s shows it
    for each in still:
        assert each.strict / each.repetitions > 5 * each.rate
    for each in drops:
        assert each.rate <= each.strict / each.repetitions
    by_size = {each.cell.drop: each.rate for each in drops if each.cell.dependence == 0.8}
    assert by_size[0.20] > by_size[0.10] > 0.05


@pytest.mark.parametrize("cell", [gate_power.STILL[0], gate_power.PROMISED, gate_power.DROPS[4]], ids=named)
def test_comparing_cases_calls_a_regression_just_when_the_simulation_does(cell):
    generator = np.random.default_rng(17)
    agreed = 0
    for _ in range(12):
        sums, _ = gate_power.draw_pair(cell, generator)
        runs = figures_from(sums, cell)
        compared = compare_cases(
            *runs,
            directions={f"m{number}": "higher" for number in range(gate_power.METRICS)},
            alternative="worse",
            level=gate_power.LEVEL,
            allowed={f"m{number}": gate_power.ALLOWED for number in range(gate_power.METRICS)},
        )
        agreed += bool(compared.regressions) == gate_power.is_caught(sums, cell)
    assert agreed == 12


def figures_from(sums, cell):
    """Two runs whose differences by conversation are these: the first with nothing, the second with the difference."""
    size = range(cell.turns)
    return tuple(
        {
            f"c{place}": CaseFigures(
                case_id=f"c{place}",
                cluster=f"c{place}",
                values={f"m{number}": share * float(column[place]) / cell.turns for number, column in enumerate(sums)},
                by_turn={
                    f"m{number}": {turn: share * float(column[place]) / cell.turns for turn in size}
                    for number, column in enumerate(sums)
                }
                if cell.turns > 1
                else {},
            )
            for place in range(cell.conversations)
        }
        for share in (0.0, 1.0)
    )
