"""Long texts are cut between words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.cli.options import cut_at_word
from cortex_eval.reports import width_of


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("does harm to people", 40, "does harm to people"),
        ("does harm to people", 19, "does harm to people"),
        ("does harm to people", 18, "does harm to…"),
        ("does harm to people", 10, "does harm…"),
        ("a finding of a rule [dosage-excess]", 25, "a finding of a rule…"),
        ("one, two, three", 10, "one, two…"),
        ("अआइईउऊऋएऐओऔकखगघ", 8, "अआइईउऊऋ…"),
        ("a pneumonoultramicroscopic", 12, "a pneumonou…"),
    ],
)
def test_a_word_stays_whole_unless_it_is_most_of_the_text(text, width, shown):
    assert cut_at_word(text, width) == shown


@given(st.text(max_size=60), st.integers(4, 40))
def test_nothing_is_wider_than_its_room(text, width):
    assert width_of(cut_at_word(text, width)) <= width
