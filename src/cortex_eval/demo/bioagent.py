"""A sample bioinformatics agent on loopback: it says what it understood, and is wrong on purpose now and then.

It is a sample: rules over a small vocabulary, no catalogue, no cluster and no language model behind it. What it reports
as a call of its model is a second, looser set of rules. Its planted faults are listed in WEAKNESSES.md of the project
`bioagent`, so that a report has something to find.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from cortex_eval.demo.bioagent_parser import Heard, Parsed, parse
from cortex_eval.demo.listening import Listening
from cortex_eval.testing import Answer, Call

_ABOUT = {
    "service": "bioagent",
    "sample": True,
    "about": "The sample bioinformatics agent of Cortex. It runs nothing, and some of what it understands is wrong on "
    "purpose. POST {query, context, session_id}.",
}
_SAYS: Mapping[str, tuple[str, str]] = {
    "DATA_SEARCH": ("I searched the catalogue for datasets: {}.", "मैंने सूची में ये डेटासेट खोजे: {}।"),
    "DATA_DESCRIBE": ("Here are the details of the dataset: {}.", "डेटासेट का विवरण यह है: {}।"),
    "DATA_DOWNLOAD": ("The download of the data has begun: {}.", "डेटा का डाउनलोड शुरू हो गया: {}।"),
    "DATA_SCAN": ("I scanned the files in the folder: {}.", "मैंने फ़ोल्डर की फ़ाइलें देख लीं: {}।"),
    "WORKFLOW_GENERATE": ("I wrote a workflow, a pipeline for: {}.", "मैंने वर्कफ़्लो बना दिया: {}।"),
    "WORKFLOW_CONFIGURE": ("I changed the settings of the workflow: {}.", "मैंने वर्कफ़्लो की सेटिंग बदल दी: {}।"),
    "JOB_SUBMIT": ("The job is submitted and will run: {}.", "जॉब भेज दिया गया: {}।"),
    "JOB_STATUS": ("The job is running, here is its status: {}.", "जॉब चल रहा है: {}।"),
    "JOB_CANCEL": ("The job is cancelled: {}.", "जॉब रद्द कर दिया गया: {}।"),
    "EXPLAIN": ("Here is an explanation: {}.", "इसका अर्थ यह है: {}।"),
    "TUTORIAL": ("Let us go through the tutorial step by step: {}.", "आइए, ट्यूटोरियल शुरू करते हैं: {}।"),
    "TROUBLESHOOT": ("This is how to solve the problem: {}.", "समस्या का हल यह है: {}।"),
    "DEBUG": ("Here is the log of the step: {}.", "लॉग यह रहा: {}।"),
    "CLARIFY": (
        "Do you want to search for data, to build a workflow, or to look after a job?",
        "आप डेटा खोजना चाहते हैं, वर्कफ़्लो बनाना चाहते हैं या जॉब देखना चाहते हैं?",
    ),
    "OUT_OF_SCOPE": (
        "I only help with data, workflows and jobs of bioinformatics.",
        "मैं केवल जैव सूचना विज्ञान के डेटा, वर्कफ़्लो और जॉब में मदद करता हूँ।",
    ),
}
_NOTHING_NAMED = ("nothing in particular", "कुछ ख़ास नहीं")


class BioAgent(Listening):
    """The sample agent, on loopback while it is entered.

    `with BioAgent() as agent: agent.url`. It keeps nothing between calls: what was said before comes with the context.
    Version 2 is version 1 with one more fault.
    """

    noun = "sample agent"
    path = "parse"

    def answer(self, call: Call) -> Answer | dict[str, Any]:  # Any: JSON
        """What it says to one call; 400 for a body without a query."""
        if call.method != "POST":
            return {**_ABOUT, "version": self.version}
        body = call.json if isinstance(call.json, dict) else {}
        query = body.get("query")
        if not isinstance(query, str) or not query.strip():
            message = {"error": "The body needs a 'query' that is a text with something in it."}
            return Answer(status=400, body=json.dumps(message).encode())
        started = time.perf_counter()
        parsed = parse(query, _heard(body.get("context")), version=self.version)
        return _stated(query, parsed, parse_time_ms=1000 * (time.perf_counter() - started))


def _heard(context: Any) -> Heard | None:  # Any: JSON, checked here
    """What the caller says of the turn before; None when this is the first one."""
    if not isinstance(context, dict) or not isinstance(context.get("previous_query"), str):
        return None
    intent, entities = context.get("previous_intent"), context.get("previous_entities")
    return Heard(intent if isinstance(intent, str) else "", entities if isinstance(entities, dict) else {})


def _stated(query: str, parsed: Parsed, *, parse_time_ms: float) -> dict[str, Any]:  # Any: JSON
    stated = {
        "text": _text(query, parsed),
        "intent": parsed.intent,
        "entities": parsed.entities,
        "tool": parsed.tool,
        "arguments": parsed.entities if parsed.tool else None,
        "confidence": parsed.confidence,
        "llm_invoked": parsed.llm_invoked,
        "parse_time_ms": round(parse_time_ms, 3),
    }
    return stated | ({"tool_calls": [{"name": name} for name in parsed.steps]} if parsed.steps else {})


def _text(query: str, parsed: Parsed) -> str:
    is_hindi = any("\u0900" <= char <= "\u097f" for char in query)
    named = (value for held in parsed.entities.values() for value in (held if isinstance(held, list) else [held]))
    about = ", ".join(map(str, named)) or _NOTHING_NAMED[is_hindi]
    return _SAYS[parsed.intent][is_hindi].format(about)
