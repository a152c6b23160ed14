"""`python -m bench.embedded.watch_latency`: watches pods from several connections; tells how late each event came.

Prints `ready` once every watch is open, and writes a JSON result when each has seen the events it was told to wait for.
"""

import argparse
import asyncio
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.embedded.http_client import Target, loaded, watch_lines

WATCH = "/api/v1/pods?watch=true&resourceVersion={since}"
# One event: its revision, and the moment at which its create was sent, which its pod carries as an annotation.
EVENT = re.compile(rb'"resourceVersion":"([0-9]+)".*?"bench/sent":"([0-9.]+)"')
SEAM = re.compile(rb"\r\n[0-9a-f]+\r\n")  # between two chunks of HTTP; it may fall anywhere


async def follow(target: Target, since: str, count: int, opened: asyncio.Semaphore) -> list[float]:
    """Seconds from the moment each create was sent to its event. A watch the server ends, as kube-apiserver does with
    watchers it finds slow, is opened anew where it ended."""
    delays: list[float] = []
    while len(delays) < count:
        reader, writer = await watch_lines(target, WATCH.format(since=since))
        opened.release()
        rest = b""
        try:
            while len(delays) < count and (block := await reader.read(1 << 18)):
                now = time.monotonic()
                text, read = SEAM.sub(b"", rest + block), 0
                for event in EVENT.finditer(text):
                    delays.append(now - float(event[2]))
                    since, read = event[1].decode(), event.end()
                rest = text[read:]
        finally:
            writer.close()
    return delays


async def watch_all(target: Target, since: str, count: int, watchers: int) -> dict[str, Any]:
    opened = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow(target, since, count, opened)) for _ in range(watchers)]
        for _ in tasks:
            await opened.acquire()
        print("ready", flush=True)
    return {"delays": sorted(delay for task in tasks for delay in task.result())}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.embedded.watch_latency", description=__doc__)
    parser.add_argument("target", help="file that says where the server is")
    parser.add_argument("--since", default="", help="resourceVersion to begin after")
    parser.add_argument("--count", type=int, default=1000, help="events each watcher waits for")
    parser.add_argument("--watchers", type=int, default=10)
    parser.add_argument("--result", type=Path, required=True, help="file for the result")
    options = parser.parse_args(arguments)
    job = watch_all(loaded(options.target), options.since, options.count, options.watchers)
    options.result.write_bytes(msgspec.json.encode(uvloop.run(job)))


if __name__ == "__main__":
    main()
