"""The jobs of the benchmark, and what their ledgers say: steps that count, and steps that had to be done again."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.hotswap.gangs import LEADERS, Gang
from bench.spot import member

PORT = 29500


class Pace(msgspec.Struct, frozen=True):
    """The pace of the members; all in seconds, and none of it is sped up."""

    step: float = 0.02
    save: float = 0.2
    every: int = 100  # steps from one checkpoint to the next
    grace: int = 2  # terminationGracePeriodSeconds


class Progress(msgspec.Struct, frozen=True):
    job: str
    steps: int  # by which the job is further at the end
    lost: int  # that were done and had to be done again


def gangs(folder: Path, sizes: Sequence[int], pace: Pace) -> list[Gang]:
    """The first is important, all others are not."""
    return [_gang(folder, f"job-{index}", size, pace, "bench-low" if index else "bench-high")
            for index, size in enumerate(sizes)]  # fmt: skip


def _gang(folder: Path, name: str, size: int, pace: Pace, priority: str) -> Gang:
    place = folder / name
    place.mkdir(parents=True)
    leader = LEADERS["job"].format(name)
    return Gang(
        name=name,
        size=size,
        priority=priority,
        command=(sys.executable, member.__file__, str(place), str(size), leader, str(PORT)),
        env={
            member.STEP_SECONDS: str(pace.step),
            member.SAVE_SECONDS: str(pace.save),
            member.EVERY_STEPS: str(pace.every),
        },
        grace=pace.grace,
    )


def progress(folder: Path, job: str) -> Progress:
    """The progress by the ledger of rank 0, over all processes that had that rank: members work in lockstep."""
    try:
        steps = _steps((folder / job / "ledger-0").read_text())
    except FileNotFoundError:
        steps = []
    done = steps[-1] if steps else 0
    return Progress(job, done, len(steps) - done)


def _steps(ledger: str) -> list[int]:
    """A process that was killed may have left half a line."""
    parts = (line.split() for line in ledger.splitlines())
    return [int(words[0]) for words in parts if len(words) == 2 and words[0].isdecimal()]
