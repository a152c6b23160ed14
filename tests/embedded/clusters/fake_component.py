"""A part of a cluster that does nothing: `fake_component.py PART FOLDER`. Files in the folder make it misbehave."""

import signal
import sys
import time
from pathlib import Path

from understudy.embedded.clusters.process_lock import hold_lock

part, folder = sys.argv[1], Path(sys.argv[2])


def leave(*_: object) -> None:
    with open(folder / "stopped", "a") as file:
        file.write(f"{part}\n")
    sys.exit(0)


signal.signal(signal.SIGTERM, signal.SIG_IGN if (folder / f"{part}-is-stubborn").exists() else leave)
with hold_lock(folder / "run" / part):
    sys.stderr.write(f"{part} says hello\n")
    if (folder / f"{part}-is-broken").exists():
        sys.exit("this will not do")
    while True:
        time.sleep(3600)
