"""Runs a script whose steps take their time, and holds each of them until a file is there or it is told to stop:
`held.py FILE SCRIPT ...`. So a test can always disturb it in time.
"""

import pathlib
import runpy
import sys
import time

from understudy import train

PACE = 0.0123  # by which the pauses between steps are known
_sleep = time.sleep


def held(seconds: float) -> None:
    while seconds == PACE and not go.exists() and not train.stopping():
        _sleep(0.02)
    _sleep(seconds)


if __name__ == "__main__":
    go = pathlib.Path(sys.argv[1])
    time.sleep = held  # type: ignore[assignment]
    sys.argv[:2] = []
    runpy.run_path(sys.argv[0], run_name="__main__")
