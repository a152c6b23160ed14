"""A program that writes to a store as fast as it can and says on stdout what was acknowledged, until it is killed.

Each key belongs to one task, which writes it with the numbers 1, 2, 3 … and sometimes removes it.
"""

import asyncio
import random
import sys
from pathlib import Path

import msgspec

from understudy.embedded.store.records import Key, Limits, Put, Remove
from understudy.embedded.store.store import Store

TASKS = 24
PADDING = "x" * 2_000


class Content(msgspec.Struct):
    revision: int
    number: int  # of the write, counted by key
    gone: bool = False
    padding: str = PADDING


class Acknowledged(msgspec.Struct, array_like=True):
    revision: int
    name: str
    number: int
    gone: bool


async def write(store: Store, name: str, chance: random.Random) -> None:
    key = Key("pods", "default", name)
    present = store.get(key)
    number = msgspec.json.decode(present.body, type=Content).number if present else 0
    while True:
        number += 1
        gone = present is not None and chance.random() < 0.2
        kind = Remove if gone else Put
        (record,) = await store.submit(
            [kind(key, lambda revision: msgspec.json.encode(Content(revision, number, gone)))]  # noqa: B023 (called at once)
        )
        present = None if gone else record
        sys.stdout.buffer.write(msgspec.json.encode(Acknowledged(record.revision, name, number, gone)) + b"\n")
        sys.stdout.buffer.flush()


async def main(path: Path, limits: Limits, seed: int) -> None:
    store = Store.open(path, limits)
    await asyncio.gather(*(write(store, f"pod-{task:02}", random.Random(f"{seed} {task}")) for task in range(TASKS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Limits), int(sys.argv[3])))
