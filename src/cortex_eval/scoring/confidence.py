"""Can the target's confidence be trusted? A question to a whole run, which its report answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cortex_eval.core import Level
from cortex_eval.scoring.base import scorers


@scorers.register("confidence")
@dataclass(frozen=True, slots=True)
class Confidence:
    """Scores no single reply: no reply is well or badly calibrated, only many are.

    The report reckons the figures wherever replies state a confidence, whether this is named in a plan or not.
    """

    level: ClassVar[Level] = "run"
