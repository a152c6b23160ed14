"""One busy loop, as a program: keeps a CPU busy until its parent ends, however it ends, or its time is over."""

import os
import sys
import time

STEPS = 100_000  # between two looks at the parent and the clock: a few milliseconds


def spin(parent: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while os.getppid() == parent and time.monotonic() < end:
        for _ in range(STEPS):
            pass


if __name__ == "__main__":
    spin(int(sys.argv[1]), float(sys.argv[2]))
