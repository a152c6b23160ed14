"""Fits a line to noisy points by stochastic gradient descent, and can be stopped and go on as if nothing had happened.

When it is told to stop, it finishes its step, saves everything the next step depends on, and leaves with an exit code
that does not say "done". When it starts and finds what it saved, it goes on from there.
"""

import argparse
import json
import random
import tempfile
import time

from understudy import train

chance = random.Random(1)
slope, offset = 0.0, 0.0


def main():
    global slope, offset
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--pace", type=float, default=0.0, help="seconds a step takes at least")
    options.add_argument("--checkpoints", help="a folder to save in; without it, nothing outlives the process")
    given = options.parse_args()

    folder = given.checkpoints or tempfile.mkdtemp()
    with train.Checkpoints(folder, write, read, every_steps=200) as checkpoints:
        begin = checkpoints.resume()
        print(f"goes on from step {begin}" if begin else "begins", flush=True)
        for step in range(begin, given.steps):
            slope, offset = after_one_point(slope, offset)
            time.sleep(given.pace)
            checkpoints.after(step + 1)  # saves where it is time to; told to stop, saves and leaves
    print(f"done after {given.steps} steps: slope {slope!r}, offset {offset!r}")


def after_one_point(slope, offset):
    x = chance.uniform(-1.0, 1.0)
    y = 3.0 * x + 1.0 + chance.gauss(0.0, 0.1)
    error = slope * x + offset - y
    return slope - 0.05 * error * x, offset - 0.05 * error


def write(path):
    path.write_text(json.dumps([slope, offset, chance.getstate()]))


def read(path):
    global slope, offset
    slope, offset, (version, numbers, spare) = json.loads(path.read_text())
    chance.setstate((version, tuple(numbers), spare))  # the points to come depend on it


main()
