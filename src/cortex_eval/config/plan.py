"""From a project and a request to a plan: everything that a run needs, checked and frozen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cortex_eval.analysis import GateSettings
from cortex_eval.core import Attachment, Case, to_json
from cortex_eval.datasets import Selection, read_attached
from cortex_eval.net import Budget, Guard, Limits, Outside, Patience
from cortex_eval.scoring import PlannedScorer
from cortex_eval.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSource:
    """A dataset file and how to read it."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None

    @property
    def name(self) -> str:
        """The file's name: what people know the dataset by."""
        return self.path.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One dataset against one target, scored and judged: all that the engine needs to know."""

    suite: str
    dataset: DatasetSource | Sequence[Case]
    target: Target
    target_name: str
    target_version: str | None = None
    target_settings: Mapping[str, Any] = field(default_factory=dict)
    """As resolved, secrets masked."""
    address_at: str = ""
    """Which setting holds the target's address, such as `api_url of services.bot (cortex.yaml:2)`."""
    scorers: tuple[PlannedScorer, ...]
    passing_threshold: float = 0.7
    at_once: int = 10
    repeats: int = 1
    patience: Patience = field(default_factory=Patience)
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    is_release: bool = False
    """Whether whoever started it says that this is a release."""
    is_offline: bool = False
    """Call nobody but loopback and the hosts that the project file names."""
    named_hosts: tuple[str, ...] = ()
    gate: GateSettings = field(default_factory=GateSettings)
    selection: Selection = field(default_factory=Selection)
    changed_since: str | None = None
    """A run: what is still the same as in it is not asked again."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for on the command line, so that a resume can ask for the same."""
    fix_locations: Mapping[str, str] = field(default_factory=dict)
    """Where to mend what fails, for the error analysis."""
    notes: tuple[str, ...] = ()

    @property
    def dataset_name(self) -> str:
        """What people know the dataset by."""
        return self.dataset.name if isinstance(self.dataset, DatasetSource) else "cases"

    def read_attachment(self, attachment: Attachment) -> bytes:
        """The bytes of a case's attachment, from beside its dataset."""
        folder = self.dataset.path.parent if isinstance(self.dataset, DatasetSource) else Path()
        return read_attached(attachment, folder)

    def way_out(self) -> Outside:
        """What all calls of one carrying-out of this plan share."""
        guard = Guard(is_offline=self.is_offline, named=self.named_hosts)
        return Outside(at_once=self.at_once, budget=replace(self.budget), guard=guard)

    def identity(self) -> dict[str, Any]:
        """What makes results comparable: a run may be resumed only by a plan with the same."""
        return {
            "target": {
                "name": self.target_name,
                "kind": self.target.kind,
                "version": self.target_version,
                "settings": dict(self.target_settings),
                **({"fingerprint": self.target.fingerprint} if self.target.fingerprint else {}),
            },
            "scorers": {
                each.name: {
                    "kind": each.kind,
                    "version": each.version,
                    "fingerprint": each.fingerprint,
                    "weight": each.weight,
                    "threshold": each.threshold,
                    "critical": each.critical,
                }
                for each in self.scorers
            },
            "passing_threshold": self.passing_threshold,
            "repeats": self.repeats,
        }

    @property
    def target_fingerprint(self) -> str:
        """Changes with the target's kind, settings, files and version."""
        target = self.target
        text = to_json([target.kind, self.target_settings, target.fingerprint, self.target_version], sort_keys=True)
        return hashlib.sha256(text).hexdigest()[:16]
