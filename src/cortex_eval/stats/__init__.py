"""Pure functions on numbers: how sure a figure is."""

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
    "Estimate",
    "Interval",
    "all_equal_interval",
    "bootstrap_interval",
    "cluster_normal_interval",
    "design_effect",
    "effective_n",
    "estimate",
    "percentile",
    "wilson",
]
