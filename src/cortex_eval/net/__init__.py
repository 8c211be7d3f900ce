"""How anything outside is called: one client, limits, retries, rates, budgets, and who may be called."""

from cortex_eval.net.attempt import Called, foreign_step, is_cancelled
from cortex_eval.net.client import JsonClient, Limits, Parsed, Received, check_url, host_of, parse_json, shown
from cortex_eval.net.guard import Guard, is_loopback
from cortex_eval.net.knock import knock
from cortex_eval.net.line import Line
from cortex_eval.net.outside import Budget, Outside, Place
from cortex_eval.net.patience import BREAK_AFTER, TIMEOUT_S, Patience, is_misfit
from cortex_eval.net.stream import ServerEvent, events

__all__ = [
    "BREAK_AFTER",
    "TIMEOUT_S",
    "Budget",
    "Called",
    "Guard",
    "JsonClient",
    "Limits",
    "Line",
    "Outside",
    "Parsed",
    "Patience",
    "Place",
    "Received",
    "ServerEvent",
    "check_url",
    "events",
    "foreign_step",
    "host_of",
    "is_cancelled",
    "is_loopback",
    "is_misfit",
    "knock",
    "parse_json",
    "shown",
]
