"""Foreign text made safe to look at."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Secret
from cortex_eval.datasets import neutralised, restored
from cortex_eval.reports import visible
from cortex_eval.reports.text import as_code, as_html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("dos\r\nline", "dos\nline"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("abc\u202edef", "abc\\u202edef"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("joined\u200dup", "joined\\u200dup"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_an_escape(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["क्या मेरा जॉब पूरा हो गया?", "क्\u200dष", "शर्\u200cमा", "👩\u200d⚕️ says hello"])
def test_hindi_words_and_emoji_keep_the_joiners_that_they_need(text):
    assert visible(text) == text


@given(st.text())
def test_html_of_any_text_has_no_tag_of_its_own(text):
    shown = as_html(text).replace('<span class="esc">', "").replace("</span>", "")
    assert "<" not in shown
    assert ">" not in shown
    assert '"' not in shown
    assert "\u202e" not in shown
    assert "\x00" not in shown


@given(st.text())
def test_neutral_cells_read_back_exactly_and_never_begin_a_formula(text):
    cell = neutralised(text)
    assert restored(cell) == text
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =cmd|' /C calc'!A0", "'=1", "\r=1"])
def test_d17_cells_that_look_like_formulas_are_neutralised(text):
    assert neutralised(text) == f"'{text}"
    written = io.StringIO(newline="")
    csv.writer(written).writerow([neutralised(text)])
    (read,) = next(csv.reader(io.StringIO(written.getvalue(), newline="")))
    assert restored(read) == text


@pytest.mark.parametrize("text", ["![](http://evil/?q)", "a `tick` b", "``", "", "`", "a | b", "<b>x</b>"])
def test_a_code_span_is_closed_by_nothing_inside_it(text):
    span = as_code(text).replace("\\|", "|")
    fence = re.match("`+", span)[0]
    runs = re.findall("`+", span)
    assert runs.count(fence) == 2
    assert runs[0] == runs[-1] == fence
    assert span.removeprefix(fence).removesuffix(fence).strip() == text


def test_secrets_are_masked_before_anything_is_cut():
    secret = Secret("hunter2-&-hunter3")
    assert "hunter" not in as_html(f"the key is {secret.reveal()}")
    assert "hunter" not in as_code(f"the key is {secret.reveal()}", width=20)
