"""Prices: a dated table, families of models, exact sums, and None for whatever is not known."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Secret, Usage
from cortex_eval.llm import ModelSettings, Prices, make_model, price_of, price_table
from cortex_eval.llm.openai import OpenAIModel


def test_the_table_is_dated_names_its_sources_and_every_row_is_sound() -> None:
    table = price_table()

    assert re.fullmatch(r"2026-\d{2}-\d{2}", table["dated"])
    for service, about in table["services"].items():
        assert "pricing page" in about["source"]
        for model in about["models"]:
            prices = price_of(service, model)
            assert prices is not None
            assert 0 < prices.input < prices.output, model
            assert prices.cached_input is None or 0 < prices.cached_input < prices.input, model
            assert prices.cache_write is None or prices.input < prices.cache_write < prices.output, model


@pytest.mark.parametrize(
    ("service", "model", "family"),
    [
        ("openai", "gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
        ("openai", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("anthropic", "claude-sonnet-4-5-latest", "claude-sonnet-4-5"),
        ("gemini", "gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gemini", "models/gemini-2.5-flash", "gemini-2.5-flash"),
    ],
)
def test_a_dated_name_has_the_price_of_its_family(service: str, model: str, family: str) -> None:
    assert price_of(service, model) == price_of(service, family) is not None


@pytest.mark.parametrize(
    ("service", "model"),
    [
        ("openai", "gpt-4.1-mini-search"),
        ("openai", "ft:gpt-4.1-mini:acme::abc"),
        ("openai", "claude-haiku-4-5"),
        ("openai", "gpt-4.1-mini-"),
        ("openai", None),
        ("nobody", "gpt-4.1-mini"),
    ],
)
def test_what_is_not_in_the_table_has_no_price(service: str, model: str | None) -> None:
    assert price_of(service, model) is None


def test_an_older_snapshot_with_a_price_of_its_own_keeps_it() -> None:
    old, new = price_of("openai", "gpt-4o-2024-05-13"), price_of("openai", "gpt-4o-2024-11-20")

    assert old is not None
    assert new is not None
    assert (old.input, new.input) == (5.0, 2.5)


def test_the_table_is_used_on_the_providers_own_host_alone() -> None:
    def priced(**settings: object) -> Prices | None:
        model = make_model(ModelSettings(model="openai:gpt-4.1-mini", api_key=Secret("some-key"), **settings))  # type: ignore[arg-type]
        assert isinstance(model, OpenAIModel)
        return model.service.price_of("gpt-4.1-mini-2025-04-14")

    own = priced()
    assert own is not None
    assert (own.input, own.cached_input, own.output, own.table) == (0.4, 0.1, 1.6, f"cortex-{price_table()['dated']}")
    assert priced(base_url="http://127.0.0.1:8080/v1") is None, "a server may call anything gpt-4.1-mini"
    mine = Prices(input=1.0, output=2.0)
    assert priced(base_url="http://127.0.0.1:8080/v1", prices=mine) == mine


def test_the_cost_is_exact_and_says_which_table_it_is_from() -> None:
    prices = price_of("openai", "gpt-4.1-mini")
    assert prices is not None

    cost = prices.cost(Usage(input_tokens=3, cached_tokens=1, output_tokens=1))

    assert cost is not None
    assert (cost.amount, cost.currency) == (Decimal("0.0000025"), "USD")
    assert cost.price_table.startswith("cortex-2026-")


def test_beyond_the_size_that_a_price_holds_for_the_cost_is_unknown() -> None:
    prices = Prices(input=1.0, output=2.0, up_to=1000)

    assert prices.cost(Usage(input_tokens=1000)) is not None
    assert prices.cost(Usage(input_tokens=1001)) is None


def test_nothing_used_costs_nothing_and_without_a_price_for_the_cache_it_is_as_dear_as_input() -> None:
    prices = Prices(input=2.0, output=4.0)
    nothing, cached = prices.cost(Usage()), prices.cost(Usage(input_tokens=10, cached_tokens=10))

    assert nothing is not None
    assert nothing.amount == 0
    assert cached is not None
    assert cached.amount == Decimal("0.00002")


@given(
    fresh=st.integers(0, 10**6), cached=st.integers(0, 10**6), output=st.integers(0, 10**6), more=st.integers(0, 10**6)
)
def test_more_tokens_never_cost_less_and_parts_add_up(fresh: int, cached: int, output: int, more: int) -> None:
    prices = Prices(input=0.4, cached_input=0.1, output=1.6)

    def cost(usage: Usage) -> Decimal:
        found = prices.cost(usage)
        assert found is not None
        return found.amount

    whole = Usage(input_tokens=fresh + cached, cached_tokens=cached, output_tokens=output)
    parts = [Usage(input_tokens=fresh), Usage(input_tokens=cached, cached_tokens=cached), Usage(output_tokens=output)]
    assert cost(whole) == sum(cost(part) for part in parts)
    longer = Usage(input_tokens=fresh + cached, cached_tokens=cached, output_tokens=output + more)
    assert cost(longer) >= cost(whole) >= 0
