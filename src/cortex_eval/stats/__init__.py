"""Pure functions on numbers: how sure a figure is, and what a comparison could see."""

from cortex_eval.stats.calibration import (
    CalibratedEce,
    ReliabilityBin,
    brier,
    calibrated_ece,
    calibration_error,
    equal_mass_edges,
    reliability_bins,
)
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
    "CalibratedEce",
    "Estimate",
    "Interval",
    "ReliabilityBin",
    "all_equal_interval",
    "bootstrap_interval",
    "brier",
    "calibrated_ece",
    "calibration_error",
    "cluster_normal_interval",
    "design_effect",
    "effective_n",
    "equal_mass_edges",
    "estimate",
    "pairs_needed",
    "percentile",
    "reliability_bins",
    "smallest_detectable_drop",
    "wilson",
]
