"""What a run would take, before anybody is asked: calls, tokens, money, time, hosts, and the drop that it could see."""

from cortex_eval.estimate.figures import Estimate, Host, Limit, Side, Taken, Visible
from cortex_eval.estimate.hosts import hosts_of
from cortex_eval.estimate.making import estimate_run

__all__ = ["Estimate", "Host", "Limit", "Side", "Taken", "Visible", "estimate_run", "hosts_of"]
