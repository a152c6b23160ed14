"""`python -m bench.hotswap`: nodes die under running gangs of an embedded cluster; how long until all members run."""

import argparse
import contextlib
import sys
from collections.abc import Sequence

import msgspec
import uvloop

from bench.hotswap import report, theatre
from bench.hotswap.gangs import KINDS
from bench.hotswap.playing import Progress, play
from bench.hotswap.report import Result
from bench.hotswap.scenarios import SCENARIOS, Shape
from bench.hotswap.stage import NeverSeen
from bench.hotswap.timeline import Moments
from understudy.cli.throwaway import ended_like_ctrl_c

INCIDENTS, QUICK = 200, 3
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    clean = True
    try:
        with ended_like_ctrl_c():
            for name in _wanted(options.scenario):
                found = _measured(name, options)
                print(
                    msgspec.json.encode(found).decode() if options.json else "\n".join(report.lines(found)), flush=True
                )
                clean &= report.is_clean(found)
    except NeverSeen as error:
        print(f"bench.hotswap: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0 if clean else 1


def _measured(name: str, options: argparse.Namespace) -> Result:
    count = options.incidents or (QUICK if options.quick else INCIDENTS)
    shape = Shape(options.processes, options.grace, options.load)
    scenario = SCENARIOS[name](shape)
    load = theatre.full_load(theatre.cores()) if options.load else contextlib.nullcontext()
    with theatre.cluster(scenario.pools) as folder, load:
        played = uvloop.run(play(folder, scenario, options.kind, count, _progress(name, count)))
    return report.result(scenario, options.kind, played) | {"load": options.load}


def _progress(name: str, count: int) -> Progress:
    """On a terminal one line that is written over; else a line now and then."""
    rewritten, every = sys.stderr.isatty(), max(1, count // 10)

    def tell(number: int, moments: Moments) -> None:
        words = f"{name}: {number + 1} of {count}, the last took {moments['running']:.0f} ms"
        if rewritten:
            print(f"\r\033[K{words}", end="" if number + 1 < count else "\n", file=sys.stderr, flush=True)
        elif (number + 1) % every == 0:
            print(words, file=sys.stderr, flush=True)

    return tell


def _wanted(given: Sequence[str] | None) -> list[str]:
    names = given or ["all"]
    return list(SCENARIOS) if "all" in names else list(dict.fromkeys(names))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
    parser = argparse.ArgumentParser(prog="python -m bench.hotswap", description=__doc__, epilog=f"Kinds: {kinds}.")
    names = [*SCENARIOS, "all"]
    parser.add_argument(
        "--scenario", choices=names, action="extend", nargs="+", help="default: all; several are allowed"
    )
    parser.add_argument("--incidents", type=int, default=0, help=f"of each scenario (default: {INCIDENTS})")
    parser.add_argument("--processes", type=int, default=8, help="pods, and accelerators, of a node (default: 8)")
    parser.add_argument("--kind", choices=list(KINDS), default="jobset", help="of the jobs (default: jobset)")
    parser.add_argument("--grace", type=int, default=0, help="seconds of grace that the victim needs (default: none)")
    parser.add_argument("--load", action="store_true", help="with as many busy processes as there are cores")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} incidents, to see that it works")
    parser.add_argument("--json", action="store_true", help="one JSON line a scenario")
    options = parser.parse_args(arguments)
    if options.incidents < 0 or options.processes < 1 or options.grace < 0:
        parser.error("--incidents and --grace must not be negative, and --processes must be at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
