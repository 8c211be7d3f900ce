"""What a run's results say: the report, its gate, its baseline."""

from cortex_eval.analysis.calibrate import (
    Calibration,
    Drawn,
    Figure,
    Scored,
    Tuned,
    calibrate,
    scored_items,
)
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
from cortex_eval.analysis.kinds import Words, compare_words
from cortex_eval.analysis.labels import Item, Labels, read_labels
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
    "Calibration",
    "Calls",
    "Change",
    "Check",
    "ClassFigures",
    "Classified",
    "Compared",
    "Confidence",
    "ConfidenceBin",
    "ConfidenceSpread",
    "Drawn",
    "Evidence",
    "Figure",
    "Figures",
    "Gate",
    "GateSettings",
    "Group",
    "Item",
    "Labels",
    "Latency",
    "Metric",
    "Parity",
    "Regression",
    "Report",
    "Scored",
    "TokenUse",
    "Totals",
    "Tuned",
    "Unscored",
    "Verdict",
    "Words",
    "asked_at",
    "baseline_of",
    "calibrate",
    "classified",
    "classify",
    "compare_with_baseline",
    "compare_words",
    "confidence_of",
    "decide",
    "figures_of",
    "judge_usages",
    "metric_name",
    "parity",
    "read_baseline",
    "read_labels",
    "reply_fields",
    "report_document",
    "result_row",
    "scored_items",
    "summarise",
]
