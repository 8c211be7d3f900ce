"""The least that a Python client pays: an aiohttp loop that only sends and receives. usage: bare.py URL N AT_ONCE"""

import asyncio
import sys

import aiohttp

URL, N, AT_ONCE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


async def main():
    numbers = iter(range(N))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:

        async def worker():
            for number in numbers:
                body = {"query": f"What is the answer to q{number}?", "context": {}, "user_id": "eval-tester"}
                async with session.post(URL, json=body) as response:
                    await response.json()

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(worker())


asyncio.run(main())
