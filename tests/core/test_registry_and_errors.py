"""An unknown name offers the nearest one, settings are checked all at once, and errors say what and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest

from cortex_eval.core import (
    CortexError,
    InputError,
    JudgeError,
    Problem,
    Registry,
    StorageError,
    TargetError,
    check_settings,
    did_you_mean,
    short_repr,
)


@dataclass
class Lamp:
    """Something with settings."""

    room: str
    watts: float = 40.0
    mode: Literal["on", "off"] = "off"
    tags: tuple[str, ...] = ()
    lit: bool = field(default=False, init=False)


def registry() -> Registry[Lamp]:
    made: Registry[Lamp] = Registry("lamp", {})
    made.register("desk")(Lamp)
    made.register("floor")(Lamp)
    return made


def test_what_is_registered_is_found_and_built():
    lamps = registry()

    assert list(lamps) == ["desk", "floor"]
    assert "desk" in lamps
    assert "moon" not in lamps
    assert lamps.build("desk", {"room": "study", "watts": 7}) == Lamp(room="study", watts=7.0)


def test_an_unknown_name_offers_the_nearest_one():
    with pytest.raises(InputError, match=r"There is no lamp 'dsek'. Did you mean 'desk'\?"):
        registry().find("dsek")


def test_a_name_like_nothing_known_lists_what_there_is():
    with pytest.raises(InputError, match=r"There is no lamp 'xyzzy'. Known: desk, floor\."):
        registry().find("xyzzy")


def test_a_builtin_is_imported_when_it_is_first_asked_for():
    lamps: Registry[Lamp] = Registry("lamp", {"json": "json", "desk": "no_such_module"})

    with pytest.raises(ModuleNotFoundError):
        lamps.find("desk")
    with pytest.raises(InputError, match="There is no lamp 'json'"):
        lamps.find("json")  # the module registers nothing of that name


def test_everything_wrong_with_settings_is_told_at_once_by_field():
    with pytest.raises(InputError) as caught:
        check_settings(Lamp, {"wats": 5, "watts": "bright", "mode": "blink"}, owner="lamps.desk")

    found = {problem.field: problem.message for problem in caught.value.problems}
    assert set(found) == {"lamps.desk.wats", "lamps.desk.watts", "lamps.desk.mode", "lamps.desk.room"}
    assert "Did you mean 'watts'?" in found["lamps.desk.wats"]
    assert "'bright'" in found["lamps.desk.watts"]
    assert "'blink'" in found["lamps.desk.mode"]


@pytest.mark.parametrize("watts", [float("nan"), float("inf"), None, [5]])
def test_a_number_must_be_a_finite_number(watts):
    with pytest.raises(InputError, match=r"lamp\.watts"):
        check_settings(Lamp, {"room": "hall", "watts": watts}, owner="lamp")


def test_only_given_settings_are_handed_over_so_that_defaults_stay_the_classes_own():
    assert check_settings(Lamp, {"room": "hall", "tags": ["a"]}, owner="lamp") == {"room": "hall", "tags": ("a",)}


def test_what_is_not_set_from_outside_is_no_setting():
    with pytest.raises(InputError, match="has no setting 'lit'"):
        check_settings(Lamp, {"room": "hall", "lit": True}, owner="lamp")


def test_one_family_of_errors():
    assert all(issubclass(kind, CortexError) for kind in (InputError, TargetError, JudgeError, StorageError))


def test_a_problem_says_where_it_is():
    assert str(Problem(message="has no id.", file="a.csv", line=3)) == "a.csv:3: has no id."
    assert str(Problem(message="is empty.", file="a.csv")) == "a.csv: is empty."
    assert str(InputError([Problem(message="one"), Problem(message="two")])) == "one\ntwo"


def test_names_are_offered_only_when_there_are_some():
    assert did_you_mean("x", []) == "None is known."


def test_a_long_value_is_cut():
    assert short_repr("a" * 100, width=10) == "'aaaaaaaa…"
