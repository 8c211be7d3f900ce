import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Attachment, Case, Expected, Reply, Turn
from cortex_eval.scoring import scorers
from cortex_eval.scoring.speech import Speech
from cortex_eval.scoring.word_errors import WordErrors, count_errors, list_edits, variants
from cortex_eval.scoring.words import spoken_words

DATA = Path(__file__).parents[3] / "shared" / "data"
AS_WRITTEN = Speech(casefold=False, ignore_punctuation=False)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "दर्द"]), max_size=12)


def case(*answers: str, checklist: tuple[str, ...] = (), **fields) -> Case:
    expected = Expected(answers=answers, checklist=checklist)
    return Case(id="1", turns=(Turn(text="?", expected=expected),), **fields)


def score(scorer: Speech, heard: str, *answers: str, **fields):
    return scorer.score_batch([(case(*answers, **fields), Reply(transcript=heard))])[0]


def folder(name: str) -> Path:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not here")
    return DATA / name


def test_the_rates_are_those_of_jiwers_own_tests():
    lines = (folder("wer_cases") / "cases.jsonl").read_text(encoding="utf-8").splitlines()

    for row in map(json.loads, lines):
        found = score(AS_WRITTEN, row["hypothesis"], row["reference"])
        assert found.measure == pytest.approx(row["wer"], abs=1e-9)
        assert found.value == pytest.approx(max(0, 1 - row["wer"]), abs=1e-9)
        if row["cer"] is not None:
            assert found.evidence["cer"] == pytest.approx(row["cer"], abs=1e-9)


@given(wanted=WORDS.filter(bool), heard=WORDS)
def test_the_rates_are_those_of_jiwer_on_generated_text(wanted, heard):
    jiwer = pytest.importorskip("jiwer")

    found = score(AS_WRITTEN, " ".join(heard), " ".join(wanted))

    assert found.measure == pytest.approx(jiwer.wer(" ".join(wanted), " ".join(heard)), abs=1e-9)
    assert found.evidence["cer"] == pytest.approx(jiwer.cer(" ".join(wanted), " ".join(heard)), abs=1e-9)


def test_the_counts_are_those_that_sclite_prints_speaker_by_speaker():
    def utterances(name: str) -> dict[str, str]:
        lines = (folder("sctk_wer") / name).read_text(encoding="utf-8").splitlines()
        found = [re.fullmatch(r"(.*)\((\S+)\)", line.strip()) for line in lines if line.strip()]
        return {each[2].lower(): each[1].strip() for each in found}

    printed = (folder("sctk_wer") / "csrnab_expected_raw.txt").read_text(encoding="utf-8")
    table = {
        each[0].lower(): [int(number) for number in each[1:]]
        for each in re.findall(r"\|\s*(\w+)\s*\|\s*(\d+)\s+(\d+)\s*\|" + r"\s*(\d+)" * 6 + r"\s*\|", printed)
    }
    references, heard = utterances("csrnab.ref"), utterances("csrnab.hyp")

    counted: dict[str, Counter] = {}
    for name, reference in references.items():
        found = score(Speech(ignore_punctuation=False), heard[name], reference).evidence
        errors = found["substituted"] + found["deleted"] + found["inserted"]
        for key in (name[:3], "sum"):
            counted.setdefault(key, Counter()).update(
                {**{each: found[each] for each in ("words", "substituted", "deleted", "inserted")}},
                sentences=1,
                errors=errors,
                wrong=errors > 0,
            )

    columns = ("sentences", "words", "correct", "substituted", "deleted", "inserted", "errors", "wrong")
    for key, each in counted.items():
        each["correct"] = each["words"] - each["substituted"] - each["deleted"]
        assert [each[column] for column in columns] == table[key], key
    assert set(counted) == {"4t0", "4t1", "4t2", "sum"}


@given(wanted=WORDS, heard=WORDS)
def test_the_edits_listed_are_those_counted_and_lead_from_one_text_to_the_other(wanted, heard):
    counted = count_errors(wanted, heard)
    edits = list_edits(wanted, heard)

    kinds = Counter(each.kind for each in edits)
    assert kinds == +Counter(substituted=counted.substituted, deleted=counted.deleted, inserted=counted.inserted)
    left = Counter(wanted)
    left.subtract(each.wanted for each in edits if each.wanted)
    left.update(each.heard for each in edits if each.heard)
    assert +left == Counter(heard)


@given(wanted=WORDS, heard=WORDS)
def test_errors_lie_between_the_difference_in_length_and_the_longer_text(wanted, heard):
    errors = count_errors(wanted, heard).errors

    assert abs(len(wanted) - len(heard)) <= errors <= max(len(wanted), len(heard))
    assert count_errors(heard, wanted).errors == errors
    assert count_errors(wanted, wanted).errors == 0


def test_very_long_texts_are_counted_and_not_listed():
    wanted, heard = [str(i) for i in range(900)], [str(i) for i in range(1, 901)]

    assert count_errors(wanted, heard) == WordErrors(words=900, substituted=0, deleted=1, inserted=1)
    assert list_edits(wanted, heard) is None


def test_a_rate_over_no_words_is_undefined():
    assert count_errors([], ["a"]).rate is None


def test_case_and_punctuation_do_not_count_unless_told():
    assert score(Speech(), "take two tablets don't stop", "Take two tablets; don’t stop!").value == 1
    assert score(AS_WRITTEN, "take two", "Take two.").measure == 1
    assert spoken_words("2.5 mg, co-amoxiclav; rock 'n' roll") == ["2.5", "mg", "co", "amoxiclav", "rock", "n", "roll"]


def test_hindi_words_are_whole_and_devanagari_digits_are_digits():
    heard = score(Speech(), "दवा दिन में 2 बार लें", "दवा दिन में २ बार लें।")
    wrong = score(Speech(), "दवा दिन में 2 बर लें", "दवा दिन में २ बार लें।")

    assert heard.value == 1
    assert wrong.measure == pytest.approx(1 / 6)
    assert wrong.evidence["edits"] == [{"kind": "substituted", "wanted": "बार", "heard": "बर"}]


def test_scripts_without_spaces_count_by_character():
    assert score(Speech(), "胸が痛", "胸が痛い").measure == pytest.approx(1 / 4)


def test_the_best_of_several_references_counts_and_alternatives_are_read_as_nist_writes_them():
    assert score(Speech(), "color", "wrong", "{ colour / color }").value == 1
    assert variants("for { @ / an } investor") == ["for  investor", "for an investor"]
    assert variants("{not an alternative}") == ["{not an alternative}"]


def test_an_empty_transcript_is_all_missed_and_no_reference_is_not_applicable():
    empty = score(Speech(), "", "go forward ten meters")
    none = score(Speech(), "go forward")
    only_signs = score(Speech(), "go forward", "...")

    assert (empty.value, empty.measure, empty.evidence["deleted"]) == (0, 1, 4)
    assert none.value is None
    assert only_signs.value is None
    assert "no transcript" in none.reason


def test_the_transcript_is_scored_and_without_one_the_text():
    pair = case("go forward")

    spoken, written = Speech().score_batch(
        [(pair, Reply(text="something", transcript="go forward")), (pair, Reply(text="go forward"))]
    )

    assert spoken.value == written.value == 1


def test_keywords_come_from_the_settings_the_checklist_or_the_metadata():
    said = "take paracetamol twice a day"
    by_setting = score(Speech(keywords=("Paracetamol", "twice a week")), said, said)
    by_list = score(Speech(), said, said, checklist=("paracetamol", "day"))
    by_column = score(Speech(), said, said, metadata={"keywords": "aspirin, twice a day"})

    assert by_setting.evidence["keywords"] == {"recall": 0.5, "wanted": 2, "missing": ["twice a week"]}
    assert "twice a week" in by_setting.reason
    assert by_list.evidence["keywords"]["recall"] == 1
    assert by_column.evidence["keywords"]["missing"] == ["aspirin"]
    assert "keywords" not in score(Speech(), said, said).evidence


def test_the_time_to_the_first_sound_is_shown_when_the_reply_has_it():
    audio = Attachment(sha256="0" * 64, media_type="audio/wav", size=1)
    told = Reply(transcript="yes", metadata={"time_to_first_audio_ms": 320})
    streamed = Reply(transcript="yes", first_token_ms=210.0, attachments=(audio,))
    silent = Reply(transcript="yes", first_token_ms=210.0)

    found = Speech().score_batch([(case("yes"), each) for each in (told, streamed, silent)])

    times = [each.evidence.get("time_to_first_audio_ms") for each in found]
    assert times == [320, 210.0, None]


def test_settings_come_from_the_project_file():
    assert scorers.build("speech", {"keywords": ["fever"], "casefold": False}) == Speech(False, True, ("fever",))
