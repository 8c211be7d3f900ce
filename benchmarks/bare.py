"""The least that a Python client pays: an aiohttp loop that only sends and receives. usage: bare.py URL N AT_ONCE"""

from __future__ import annotations

import asyncio
import sys

import aiohttp


async def ask_all(url: str, count: int, at_once: int) -> None:
    numbers = iter(range(count))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

        async def worker() -> None:
            for number in numbers:
                body = {"query": f"What is the answer to q{number}?", "context": {}, "user_id": "eval-tester"}
                async with session.post(url, json=body) as response:
                    await response.json()

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())


if __name__ == "__main__":
    asyncio.run(ask_all(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
