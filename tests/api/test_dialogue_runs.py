"""A parser of seed 003's kind through a whole run: per-turn scores, conversation scores, run figures."""

from cortex_eval import evaluate
from cortex_eval.datasets import cases_from

CASES = [
    {
        "id": "data_discovery_001",
        "category": "data_discovery",
        "query": "find RNA-seq data for breast cancer",
        "expected_intent": "DATA_SEARCH",
        "expected_entities": {"data_type": "RNA-seq", "disease": "breast cancer"},
        "expected_tool": "search_data",
    },
    {
        "id": "multi_turn_001",
        "category": "multi_turn",
        "turns": [
            {
                "query": "search for ATAC-seq datasets",
                "expected_intent": "DATA_SEARCH",
                "expected_entities": {"data_type": "ATAC-seq"},
            },
            {
                "query": "show me details of the first one",
                "expected_intent": "DATA_DESCRIBE",
                "requires_context": True,
                "expected_entities": {},
            },
            {"query": "download it to my workspace", "expected_intent": "DATA_DOWNLOAD", "requires_context": True},
        ],
    },
]
SCORERS = ["intent", "entities", "tool", "context_retention", "coherence", "recovery", "confidence"]


def parse(text: str) -> dict[str, object]:
    known = {
        "find RNA-seq data for breast cancer": ("data-search", {"data_type": "RNAseq"}, "search_data", 0.9, False),
        "search for ATAC-seq datasets": ("data_search", {"data_type": "ATAC-seq"}, None, 0.8, False),
        "show me details of the first one": ("DATA_DESCRIBE", {}, None, 0.6, True),
    }
    intent, entities, tool, confidence, llm = known.get(text, ("HELP", {"place": "workspace"}, None, 0.4, True))
    return {"intent": intent, "entities": entities, "tool": tool, "confidence": confidence, "llm_invoked": llm}


def test_seed_003s_figures_come_out_of_a_run():
    report = evaluate(list(cases_from(CASES)), target=parse, scorers=SCORERS, store=None)

    assert report.overall_intent_accuracy == 0.75  # 3 of 4 results
    assert report.overall_llm_usage_rate == 0.5  # seed 003 §4.5: llm_invoked over all results
    assert report.overall_tool_accuracy == 1
    assert report.category_metrics["data_discovery"]["entity_precision_avg"] == 1
    assert report.category_metrics["data_discovery"]["entity_recall_avg"] == 0.5
    assert report.metrics["context_retention"].mean == 0.5
    assert report.metrics["context_retention"].total == 2
    last = next(row for row in report.results if row.turn == 2)
    assert last.scores["context_retention"]["reason"] == "Context not retained from previous turn (turn 2)."
    assert report.classification["intent"].confusion["DATA_DOWNLOAD"] == {"HELP": 1}
    assert report.confidence.judged_by == {"intent": 4}
    assert report.to_dict()["confidence"]["n"] == 4
