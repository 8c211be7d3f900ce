"""What a run's results say: the report, its gate, its baseline."""

from cortex_eval.analysis.classification import Averages, ClassFigures, Classified, classified, classify
from cortex_eval.analysis.collect import judge_usages
from cortex_eval.analysis.compare import (
    Baseline,
    Compared,
    Figures,
    baseline_of,
    compare_with_baseline,
    figures_of,
    read_baseline,
)
from cortex_eval.analysis.confidence import Confidence, ConfidenceBin, ConfidenceSpread, confidence_of
from cortex_eval.analysis.gate import Allowance, Evidence, GateSettings, decide
from cortex_eval.analysis.names import OVERALL_NAMES, SETTING_NAMES, metric_name
from cortex_eval.analysis.parity import Parity, parity
from cortex_eval.analysis.report import (
    BaselineLabel,
    Calls,
    Change,
    Check,
    Gate,
    Group,
    Latency,
    Metric,
    Regression,
    Report,
    TokenUse,
    Totals,
    Unscored,
    Verdict,
    report_document,
)
from cortex_eval.analysis.rows import asked_at, reply_fields, result_row
from cortex_eval.analysis.summary import summarise

__all__ = [
    "OVERALL_NAMES",
    "SETTING_NAMES",
    "Allowance",
    "Averages",
    "Baseline",
    "BaselineLabel",
    "Calls",
    "Change",
    "Check",
    "ClassFigures",
    "Classified",
    "Compared",
    "Confidence",
    "ConfidenceBin",
    "ConfidenceSpread",
    "Evidence",
    "Figures",
    "Gate",
    "GateSettings",
    "Group",
    "Latency",
    "Metric",
    "Parity",
    "Regression",
    "Report",
    "TokenUse",
    "Totals",
    "Unscored",
    "Verdict",
    "asked_at",
    "baseline_of",
    "classified",
    "classify",
    "compare_with_baseline",
    "confidence_of",
    "decide",
    "figures_of",
    "judge_usages",
    "metric_name",
    "parity",
    "read_baseline",
    "reply_fields",
    "report_document",
    "result_row",
    "summarise",
]
