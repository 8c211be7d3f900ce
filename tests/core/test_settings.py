"""Settings as people write them become dataclasses, or every mistake is told by its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Criterion, InputError, Range, Secret, check_settings, read_settings


@dataclass(frozen=True)
class Inner:
    path: str
    count: Annotated[int, Range(1, 5)] = 2


@dataclass(frozen=True)
class Outer:
    inner: str | Inner = "here"
    mode: Literal["plain", "fancy"] = "plain"
    share: Annotated[float, Range(0, 1)] | None = None
    names: Sequence[str] = ()
    limits: Mapping[str, Annotated[float, Range(0, 9)]] = field(default_factory=dict)
    flag: bool = False
    folder: Path | None = None
    other: int = field(default=1, metadata={"alias": "another"})


@dataclass(frozen=True)
class Open:
    kind: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict, metadata={"rest": True})


def mistakes(values: dict[str, Any]) -> list[str]:
    return [each.message for each in read_settings(Outer, values)[1]]


def test_sound_values_are_read_with_their_types() -> None:
    read, wrong = read_settings(
        Outer,
        {
            "inner": {"path": "x", "count": 3},
            "share": 1,
            "names": ["a", "b"],
            "limits": {"k": 2},
            "folder": "data",
            "another": 7,
        },
    )

    assert wrong == []
    assert read == Outer(
        inner=Inner("x", 3), share=1.0, names=("a", "b"), limits={"k": 2.0}, folder=Path("data"), other=7
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mod": "plain"}, "there is no key 'mod'. Did you mean 'mode'?"),
        ({"mode": "odd"}, "mode: must be 'plain' or 'fancy', not 'odd'."),
        ({"share": "70%"}, "share: must be a number from 0 to 1, not '70%'."),
        ({"share": 1.5}, "share: must be a number from 0 to 1, not 1.5."),
        ({"share": float("nan")}, "share: must be a number from 0 to 1, not nan."),
        ({"share": True}, "share: must be a number from 0 to 1, not True."),
        ({"names": "abc"}, "names: must be a list, not 'abc'."),
        ({"names": ["a", 3]}, "names.1: must be text, not 3."),
        ({"limits": {"k": "v"}}, "limits.k: must be a number from 0 to 9, not 'v'."),
        ({"flag": "yes"}, "flag: must be true or false, not 'yes'."),
        ({"inner": ["x"]}, "inner: must be text or keys and values, not ['x']."),
        ({"inner": {"path": "x", "count": 9}}, "inner.count: must be a whole number from 1 to 5, not 9."),
        ({"inner": {"count": 2}}, "inner.path is missing."),
        ({"other": 1.5}, "other: must be a whole number, not 1.5."),
    ],
)
def test_a_mistake_names_its_place_what_is_wanted_and_what_was_found(values: dict[str, Any], message: str) -> None:
    assert mistakes(values) == [message]


def test_all_mistakes_are_told_at_once_and_the_rest_is_still_read() -> None:
    read, wrong = read_settings(Outer, {"mode": "odd", "share": 2, "flag": True})

    assert [each.path for each in wrong] == [("mode",), ("share",)]
    assert read == Outer(flag=True)


def test_unknown_keys_go_where_the_class_wants_them() -> None:
    assert read_settings(Open, {"kind": "http", "api_url": "x"}) == (Open("http", {"api_url": "x"}), [])


def test_a_value_that_must_not_be_shown_is_not_shown() -> None:
    @dataclass
    class Service:
        api_key: Secret

    with pytest.raises(InputError) as caught:
        check_settings(Service, {"api_key": "hunter2hunter2"}, owner="services.bot")

    assert "hunter2" not in str(caught.value)
    assert "services.bot.api_key" in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_whatever_is_written_is_read_or_told(value: Any) -> None:
    for name in ("inner", "mode", "share", "names", "limits", "flag", "folder", "other"):
        read, wrong = read_settings(Outer, {name: value})

        assert read is not None
        assert all(each.path[0] == name for each in wrong)


@dataclass(frozen=True)
class Weighted:
    criteria: tuple[Criterion, ...] = ()


def test_a_struct_among_the_settings_is_read_as_a_dataclass_is() -> None:
    lines = [{"criterion": "Is kind.", "points": 2, "tags": ["tone"]}, {"criterion": "Is short."}]

    found = check_settings(Weighted, {"criteria": lines}, owner="rubric")

    kind, short = found["criteria"]
    assert kind == Criterion(criterion="Is kind.", points=2.0, tags=("tone",))
    assert short == Criterion(criterion="Is short.")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"criterion": "Kind.", "pointz": 2}, "there is no key 'rubric.criteria.0.pointz'. Did you mean 'points'?"),
        ({"points": 2}, "rubric.criteria.0.criterion is missing."),
        ({"criterion": 3}, "rubric.criteria.0.criterion: must be text, not 3."),
        ("Kind.", "rubric.criteria.0: must be keys and values, not 'Kind.'."),
    ],
)
def test_a_mistake_in_a_struct_is_told_by_its_place(line: Any, told: str) -> None:
    with pytest.raises(InputError) as caught:
        check_settings(Weighted, {"criteria": [line]}, owner="rubric")

    assert str(caught.value) == told


def test_settings_whose_types_only_a_type_checker_imports_are_one_clear_error() -> None:
    @dataclass
    class Priced:
        amount: "Fraction | None" = None  # type: ignore[name-defined]  # noqa: F821 - nothing imports it: that is the point

    with pytest.raises(InputError, match=r"'Fraction' is not known when it runs\. Import it outside of"):
        check_settings(Priced, {"amount": 3}, owner="price")
