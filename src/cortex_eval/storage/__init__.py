"""One store for everything that is kept."""

from cortex_eval.storage.cases import Kept, Slot, StoredTurn, as_read
from cortex_eval.storage.copying import Reused
from cortex_eval.storage.database import now
from cortex_eval.storage.history import FinishedRun, OutsideRun
from cortex_eval.storage.kept import BaselineRow
from cortex_eval.storage.leases import Lease, Pulse
from cortex_eval.storage.location import Location, is_url, parse_location, shown_location
from cortex_eval.storage.owner import this_process
from cortex_eval.storage.store import Store
from cortex_eval.storage.trouble import LostLease
from cortex_eval.storage.versions import CURRENT_REVISION, migrate

__all__ = [
    "CURRENT_REVISION",
    "BaselineRow",
    "FinishedRun",
    "Kept",
    "Lease",
    "Location",
    "LostLease",
    "OutsideRun",
    "Pulse",
    "Reused",
    "Slot",
    "Store",
    "StoredTurn",
    "as_read",
    "is_url",
    "migrate",
    "now",
    "parse_location",
    "shown_location",
    "this_process",
]
