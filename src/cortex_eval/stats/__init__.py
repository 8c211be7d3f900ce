"""Pure functions on numbers: how sure a figure is, and what a comparison could see."""

from cortex_eval.stats.power import POWER, pairs_needed, smallest_detectable_drop
from cortex_eval.stats.uncertainty import (
    BOOTSTRAP_LIMIT,
    Estimate,
    Interval,
    all_equal_interval,
    bootstrap_interval,
    cluster_normal_interval,
    design_effect,
    effective_n,
    estimate,
    percentile,
    wilson,
)

__all__ = [
    "BOOTSTRAP_LIMIT",
    "POWER",
    "Estimate",
    "Interval",
    "all_equal_interval",
    "bootstrap_interval",
    "cluster_normal_interval",
    "design_effect",
    "effective_n",
    "estimate",
    "pairs_needed",
    "percentile",
    "smallest_detectable_drop",
    "wilson",
]
