"""Draws charts in a process of their own, and makes the drawings fit the page: its colours, its fonts, its readers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

Spec = dict[str, Any]
"""A Vega-Lite specification. Any: it is JSON of many shapes, all of them made in `charts.py`."""

TIME_LIMIT_S = 60.0
"""Far above the second that it takes: a machine may be busy."""
HOW_TO_GET_THEM = "pip install 'cortex-eval[charts]'"

# The colours of a specification are names of the page's own, so that light, dark and print are one drawing.
COLOURS = {
    "#000001": "var(--ink)",
    "#000002": "var(--soft)",
    "#000003": "var(--line)",
    "#000004": "var(--accent)",
    "#000005": "var(--pass)",
    "#000006": "var(--fail)",
    "#000007": "var(--warn)",
    "#000008": "var(--card)",
}
INK, SOFT, LINE, ACCENT, PASS, FAIL, WARN, CARD = COLOURS

_cache: dict[bytes, str] = {}
"""Drawings by specification: a dashboard beside the dated report needs no second drawing."""
_CACHED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is to be drawn, and what it says to those who do not see it."""

    title: str
    text: str
    """A sentence or two with what the drawing shows."""
    spec: Spec


class Drawing:
    """Charts on their way: drawn elsewhere while the rest of the page is made."""

    def __init__(self, charts: Mapping[str, Chart]) -> None:
        self._charts = charts
        self._keys = {name: orjson.dumps(chart.spec) for name, chart in charts.items()}
        self._missing = [name for name, key in self._keys.items() if key not in _cache]
        self._process = _start([charts[name].spec for name in self._missing]) if self._missing else None

    def collect(self) -> dict[str, str]:
        """The drawings by name as SVG; what could not be drawn is not among them."""
        if self._process is not None:
            for name, svg in zip(self._missing, _finish(self._process), strict=False):
                if svg:
                    _keep(self._keys[name], svg)
        return {
            name: fitted(_cache[key], self._charts[name], name) for name, key in self._keys.items() if key in _cache
        }


def can_draw() -> bool:
    """Whether the drawing library is installed; asking does not load it."""
    return find_spec("vl_convert") is not None


def fitted(svg: str, chart: Chart, name: str) -> str:
    """The drawing in the page's colours and as wide as its place, with a title and a description for screen readers."""
    svg = re.sub(r'\s(?:role|class|aria-[a-z]+|style|pointer-events|xmlns:xlink|version)="[^"]*"', "", svg)
    svg = re.sub(r'"(#00000[1-8])"', lambda found: f'"{COLOURS[found[1]]}"', svg)
    svg = re.sub(r'\sfont-family="[^"]*"', "", svg)  # the page's own
    svg = svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    width, height = re.findall(r'\s(?:width|height)="([\d.]+)"', svg)[:2]
    opening = (
        f'<svg class="drawn" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-title {name}-text">'
        f'<title id="{name}-title">{escape(chart.title)}</title><desc id="{name}-text">{escape(chart.text)}</desc>'
    )
    return re.sub(r"<svg\b[^>]*>", lambda _: opening, svg, count=1)


def _start(specs: list[Spec]) -> subprocess.Popen[bytes] | None:
    worker = Path(__file__).with_name("charts_worker.py")
    try:
        process = subprocess.Popen(  # noqa: S603  # the program is ours
            [sys.executable, "-I", str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    assert process.stdin is not None, "it was asked for"
    with suppress(OSError):  # a process that died at once is found out when its answer is read
        process.stdin.write(orjson.dumps(specs))
        process.stdin.close()
    process.stdin = None
    return process


def _finish(process: subprocess.Popen[bytes]) -> list[str | None]:
    try:
        answer, _ = process.communicate(timeout=TIME_LIMIT_S)
        drawings: list[str | None] = orjson.loads(answer)
    except (subprocess.TimeoutExpired, orjson.JSONDecodeError):
        drawings = []
    finally:
        process.kill()
        process.wait()
    return drawings


def _keep(key: bytes, svg: str) -> None:
    while len(_cache) >= _CACHED:
        del _cache[next(iter(_cache))]
    _cache[key] = svg
