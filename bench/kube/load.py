"""A synthetic load beside the contenders: busy loops, each a process that is pinned to no CPU."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.kube import busy_loop
from tests.kube.cluster.processes import Process, running

DEFAULT_LOOPS = 4
LONGEST = 1800.0  # seconds after which a loop ends by itself; no measurement takes that long


@contextlib.contextmanager
def busy_loops(count: int, log: Path, seconds: float = LONGEST) -> Iterator[list[Process]]:
    """They end with the block, and with this process. A loop that ended too soon makes the measurement worthless."""
    command = [sys.executable, "-S", str(Path(busy_loop.__file__)), str(os.getpid()), str(seconds)]
    with contextlib.ExitStack() as stack:
        loops = [stack.enter_context(running(command, log, name=f"busy loop {n}")) for n in range(count)]
        yield loops
        for loop in loops:
            loop.check()
