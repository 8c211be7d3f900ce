"""Sample services asked over HTTP, as anybody may ask them."""

from __future__ import annotations

from typing import Any, NamedTuple

import aiohttp


class Said(NamedTuple):
    """What a service said to one post."""

    status: int
    body: dict[str, Any]  # Any: JSON


async def post_each(url: str, *bodies: Any) -> list[Said]:
    """What is said to each of these bodies, one after the other."""
    async with aiohttp.ClientSession() as session:
        return [await _post(session, url, body) for body in bodies]


async def _post(session: aiohttp.ClientSession, url: str, body: Any) -> Said:
    async with session.post(url, json=body) as response:
        return Said(response.status, await response.json())


async def read_about(url: str) -> dict[str, Any]:
    """What the service says it is."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return dict(await response.json())
