"""Fits a line to noisy points by stochastic gradient descent, and can be stopped and go on as if nothing had happened.

When it is told to stop (SIGTERM), it finishes its step, saves everything the next step depends on, and leaves with an
exit code that does not say "done". When it starts and finds what it saved, it goes on from there.
"""

import argparse
import json
import pathlib
import random
import signal
import sys
import time

TOLD_TO_STOP = 128 + signal.SIGTERM  # 0 would mean that the training is done


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--pace", type=float, default=0.0, help="seconds a step takes at least")
    options.add_argument("--checkpoint", type=pathlib.Path, help="where to save; without it, nothing is saved")
    given = options.parse_args()

    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    chance = random.Random(1)
    step, slope, offset = restored(given.checkpoint, chance)
    print(f"goes on from step {step}" if step else "begins", flush=True)
    while step < given.steps:
        slope, offset = after_one_point(slope, offset, chance)
        step += 1
        time.sleep(given.pace)
        if stopping:
            save(given.checkpoint, [step, slope, offset], chance)
            print(f"told to stop: saved at step {step}", flush=True)
            sys.exit(TOLD_TO_STOP)
    print(f"done after {step} steps: slope {slope!r}, offset {offset!r}")


def after_one_point(slope, offset, chance):
    x = chance.uniform(-1.0, 1.0)
    y = 3.0 * x + 1.0 + chance.gauss(0.0, 0.1)
    error = slope * x + offset - y
    return slope - 0.05 * error * x, offset - 0.05 * error


def restored(checkpoint, chance):
    if checkpoint is None or not checkpoint.exists():
        return 0, 0.0, 0.0
    saved = json.loads(checkpoint.read_text())
    version, numbers, spare = saved["chance"]
    chance.setstate((version, tuple(numbers), spare))  # the points to come depend on it
    return saved["progress"]


def save(checkpoint, progress, chance):
    """Aside first: whoever is killed in the middle of it leaves the last good one."""
    if checkpoint is not None:
        aside = checkpoint.with_suffix(".new")
        aside.write_text(json.dumps({"progress": progress, "chance": chance.getstate()}))
        aside.replace(checkpoint)


main()
