"""Translation edit rate of two texts: the figure of sacrebleu, without its seconds for every long text.

sacrebleu tries each move of a phrase with a slow edit distance. Here a fast one, which is never larger, says first
which moves could win, so that the slow one is asked once or twice a round. A test holds that the figures are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from cortex_eval.scoring.words import has_cjk_script

# Tercom's limits, as in sacrebleu's lib_ter.py.
MAX_LENGTH = 10
MAX_DISTANCE = 50
MAX_CANDIDATES = 1000
LONGEST = 2000
"""Words of a text up to which moves are looked for; beyond, a reply that repeats itself would take minutes."""
_FLIPPED = str.maketrans("id", "di")


def ter(hypothesis: str, reference: str) -> float:
    """Translation edit rate as a share: 0 is best, more than 1 is possible (Snover et al. 2006).

    Edits and moved phrases over the words of the reference; upper and lower case are the same. Texts with Chinese or
    Japanese letters are split as sacrebleu does with `normalized` and `asian_support`: they set no spaces. Beyond
    `LONGEST` words a moved phrase counts as what was deleted in one place and inserted in another: TER at its highest.
    """
    is_cjk = has_cjk_script(hypothesis) or has_cjk_script(reference)
    split = _tokens_asian if is_cjk else _tokens
    found, wanted = split(hypothesis), split(reference)
    if not wanted:
        return 1.0 if found else 0.0
    letters = _as_letters(found, wanted)
    if max(len(found), len(wanted)) > LONGEST:
        from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

        return Levenshtein.distance(*letters) / len(wanted)
    return _edits(*letters) / len(wanted)


class _Move(NamedTuple):
    """A phrase that could stand elsewhere; larger is tried first, in Tercom's order."""

    gain: int
    length: int
    minus_start: int
    minus_target: int
    moved: str


def _edits(found: str, wanted: str) -> int:
    """Moves and edits that make one text the other, each word being one letter."""
    from sacrebleu.metrics import lib_ter  # imported late: 130 ms

    tercom: Any = lib_ter  # Any: its types ask for lists of words; a text of letters does as well
    distance = tercom.BeamEditDistance(wanted)
    moves = tried = 0
    while True:
        before, trace = distance(found)
        alignment = tercom.trace_to_alignment(trace.translate(_FLIPPED))
        candidates = list(_candidates(found, wanted, alignment, MAX_CANDIDATES - tried))
        tried += len(candidates)
        best = _best_move(candidates, before, wanted, distance) if tried < MAX_CANDIDATES else None
        if best is None:
            return moves + int(before)
        moves += 1
        found = best.moved


def _candidates(found: str, wanted: str, alignment: Any, limit: int) -> Iterator[_Move]:  # Any: sacrebleu is untyped
    """Every move that Tercom would try, with nothing known of its gain."""
    align, wanted_errors, found_errors = alignment
    count = 0
    for start, at, length in _common_phrases(found, wanted):
        if not any(found_errors[start : start + length]) or not any(wanted_errors[at : at + length]):
            continue  # one of the two is right where it stands
        if start <= align[at] < start + length:
            continue
        last = -1
        for place in range(at - 1, at + length):
            if place != -1 and place not in align:
                break
            target = 0 if place == -1 else align[place] + 1
            if target == last:
                continue
            last = target
            yield _Move(0, length, -start, -target, _moved(found, start, length, target))
            count += 1
        if count >= limit:
            return


def _common_phrases(found: str, wanted: str) -> Iterator[tuple[int, int, int]]:
    """Where a phrase starts in both texts, and its length, for each length that it could have."""
    for start in range(len(found)):
        for at in range(max(0, start - MAX_DISTANCE), min(len(wanted), start + MAX_DISTANCE + 1)):
            longest = min(MAX_LENGTH, len(found) - start, len(wanted) - at)
            for length in range(longest):
                if found[start + length] != wanted[at + length]:
                    break
                yield start, at, length + 1


def _moved(text: str, start: int, length: int, target: int) -> str:
    phrase, rest = text[start : start + length], text[:start] + text[start + length :]
    # A target inside the phrase is read as Tercom does: so many words further on.
    place = target - length if target > start + length else target
    return rest[:place] + phrase + rest[place:]


def _best_move(candidates: list[_Move], before: int, wanted: str, distance: Any) -> _Move | None:  # Any: sacrebleu's
    """The best move by sacrebleu's own distance; None when no move gains anything."""
    from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

    hopeful = [each._replace(gain=before - Levenshtein.distance(each.moved, wanted)) for each in candidates]
    best: _Move | None = None
    for each in sorted((each for each in hopeful if each.gain > 0), reverse=True):
        if best is not None and best > each:
            break  # sacrebleu's distance is never the smaller one: the rest can gain no more than this
        real = each._replace(gain=before - distance(each.moved)[0])
        if real.gain > 0 and (best is None or real > best):
            best = real
    return best


def _as_letters(found: list[str], wanted: list[str]) -> tuple[str, str]:
    """Both texts with a letter for each word, which every step here handles faster than words."""
    letters: dict[str, str] = {}
    for word in (*found, *wanted):
        letters.setdefault(word, chr(0x10000 + len(letters)))
    return "".join(letters[word] for word in found), "".join(letters[word] for word in wanted)


def _tokens(line: str) -> list[str]:
    return line.lower().split()


def _tokens_asian(line: str) -> list[str]:
    # Past the tokeniser's own cache, which would keep 65,536 texts.
    split, tokeniser = _tercom_asian()
    found: list[str] = split(tokeniser, line.rstrip()).split()
    return found


@cache
def _tercom_asian() -> tuple[Any, Any]:  # Any: sacrebleu is untyped
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    return TercomTokenizer.__call__.__wrapped__, TercomTokenizer(normalized=True, asian_support=True)
