"""Speed of `accuracy` against nltk's sentence BLEU plus the `rouge` package, on the same pairs, in one run."""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

from cortex_eval.core import Case, Reply
from cortex_eval.scoring import plan_scorer, run_scorer


def make_pairs(count: int) -> list[tuple[str, str]]:
    """Texts of about 60 words; the reply keeps about 60 % of the reference's words."""
    rng = random.Random(3)
    known = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(4000)]
    pairs = []
    for _ in range(count):
        words = [known[min(int(rng.paretovariate(0.6)), 3999)] for _ in range(rng.randint(50, 70))]
        for i in range(11, len(words), 12):
            words[i] += "."
        kept = [word if rng.random() < 0.6 else rng.choice(known) for word in words if rng.random() > 0.05]
        pairs.append((" ".join(words), " ".join(kept)))
    return pairs


def cpu_us(function: Callable[[], object], count: int, repeats: int = 3) -> float:
    """Median CPU time per pair, in µs."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return statistics.median(times) / count * 1e6


def peers(pairs: list[tuple[str, str]]) -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu  # type: ignore[import-untyped]  # has no types
    from rouge import Rouge  # type: ignore[import-untyped]  # has no types

    smoothing, rouge = SmoothingFunction().method1, Rouge()
    for reference, reply in pairs:
        sentence_bleu([reference.split()], reply.split(), smoothing_function=smoothing)
        rouge.get_scores(reply, reference)


def ours(name: str, pairs: list[tuple[str, str]]) -> Callable[[], None]:
    planned = plan_scorer(name)
    work = [(Case.of("?", reference, id="1"), Reply(text=reply)) for reference, reply in pairs]

    async def score_all() -> None:
        for case, reply in work:
            await run_scorer(planned, case, reply)

    return lambda: asyncio.run(score_all())


def missing_peers() -> list[str]:
    """The packages that are compared with and not installed; Cortex itself needs neither."""
    return [name for name in ("nltk", "rouge") if find_spec(name) is None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--findings", action="store_true", help="Lines for run.py: what, found, limit, met.")
    given = parser.parse_args()
    if missing := missing_peers():
        names = " and ".join(missing)
        print(f"accuracy ÷ nltk + rouge\tskipped: {names} not installed (pip install nltk rouge)\t≥ 10 ×\t")
        return
    count = given.pairs
    pairs = make_pairs(count)
    for name in ("accuracy", "contains"):
        ours(name, pairs[:5])()  # imports and compiled patterns are paid once a run, not once a pair

    theirs = cpu_us(lambda: peers(pairs), count)
    accuracy = cpu_us(ours("accuracy", pairs), count)
    if given.findings:
        ratio = theirs / accuracy
        print(f"pairs a second ÷ nltk + rouge\t{ratio:.1f} ×\t≥ 10 ×\t{'yes' if ratio >= 10 else 'no'}")
        print(f"… CPU of a pair\t{accuracy:.0f} µs, nltk + rouge {theirs:.0f} µs\t\t")
        return
    print(f"nltk sentence_bleu + rouge get_scores  {theirs:8.1f} µs CPU a pair")
    print(f"accuracy, called as in a run           {accuracy:8.1f} µs CPU a pair")
    print(f"ratio                                  {theirs / accuracy:8.1f} ×")
    for name in ("contains", "exact", "rouge", "bleu"):
        print(f"{name:38} {cpu_us(ours(name, pairs), count):8.1f} µs CPU a pair")


if __name__ == "__main__":
    main()
