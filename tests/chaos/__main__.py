"""`make chaos`: faults from outside on a real embedded cluster under load; the exit code is 1 on violations.

`python -m tests.chaos --seconds 600 --seed N`. The same seed draws the same jobs and faults; what the machine makes of
them differs from run to run.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.chaos import report
from tests.chaos.cluster import can_mount, working_folder
from tests.chaos.fault_schedule import SCHEDULE
from tests.chaos.judge import recording
from tests.chaos.judge.invariants import judge
from tests.chaos.run import Settings, play
from tests.chaos.workloads import Shape
from understudy.cli.clusters.temporary import signals_as_interrupt

IN_NAMESPACE = "UNDERSTUDY_CHAOS_MOUNTS"  # set in the mount namespace of this run's own


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if options.judge:
        return _judge_again(Path(options.judge))
    if IN_NAMESPACE not in os.environ and can_mount():
        _enter_namespace(options)
    seed = options.seed if options.seed is not None else random.SystemRandom().getrandbits(32)
    print(
        f"seed {seed}: `make chaos SECONDS={options.seconds:g} SEED={seed}` draws the same jobs and faults", flush=True
    )
    chance = random.Random(seed)
    shape = Shape(slices=chance.choice([3, 4]), nodes=chance.choice([2, 2, 3, 4]), gpus=2)
    try:
        with signals_as_interrupt(), working_folder(mounts=IN_NAMESPACE in os.environ) as (work, disk):
            began = time.monotonic()
            settings = Settings(work, disk, shape, options.seconds, seed, tuple(options.faults))
            result = asyncio.run(play(settings))
            result.took = time.monotonic() - began
            kept = report.keep(result, Path(options.keep)) if options.keep else None
    except KeyboardInterrupt:
        print("interrupted; everything is ended and removed", file=sys.stderr)
        return 130
    print(report.text(result))
    if kept is not None:
        print(f"ledger, observations and the logs of the parts are in {kept}")
    return 1 if result.violations else 0


def _judge_again(folder: Path) -> int:
    try:
        found = judge(recording.read(folder))
    except FileNotFoundError as error:
        print(f"{folder} is not the --keep folder of a run: {error}", file=sys.stderr)
        return 2
    print("\n".join(f"{one.kind}: {one.words}" for one in found) or "no violations")
    return 1 if found else 0


def _enter_namespace(options: argparse.Namespace) -> None:
    """Restarts this process in a mount namespace of its own: no other process sees its mounts."""
    again = [sys.executable, "-m", "tests.chaos", "--seconds", str(options.seconds)]
    again += ["--seed", str(options.seed)] if options.seed is not None else []
    again += ["--keep", options.keep] if options.keep else []
    again += ["--faults", *options.faults] if options.faults else []
    environment = {**os.environ, IN_NAMESPACE: "1"}
    os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", *again], environment)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1.0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is too short: write 1 or more, a shorter run injects no faults")
    return seconds


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=_seconds, default=120.0, help="how long faults are injected (default: 120)")
    parser.add_argument("--seed", type=int, help="of the jobs and the faults (default: another one each time)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep ledger, observations and logs in this folder")
    parser.add_argument("--judge", metavar="FOLDER", help="judge a kept run once more, and start nothing")
    told = "only these kinds of faults, to look into one of them"
    parser.add_argument("--faults", nargs="+", choices=list(SCHEDULE), default=[], metavar="KIND", help=told)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
