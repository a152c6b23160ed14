"""`python -m bench.hotswap`: nodes die under running gangs of an embedded cluster; how long until all members run."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import uvloop

from bench.hotswap import bench_cluster, report, scenarios
from bench.hotswap.cluster_watch import NeverSeen
from bench.hotswap.gangs import KINDS
from bench.hotswap.rendezvous import program
from bench.hotswap.report import Result
from bench.hotswap.runner import Progress, play
from bench.hotswap.scenarios import SCENARIOS, Scenario, Shape
from bench.hotswap.timeline import Moments, total
from understudy.cli.clusters.temporary import signals_as_interrupt

INCIDENTS, QUICK = 200, 3
WARM = "warm"  # the one scenario that is played twice
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    clean = True
    try:
        with signals_as_interrupt():
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
    shape = Shape(options.processes, options.grace, options.load, options.kind, options.import_seconds)
    if name == WARM:
        return _measured_warm(shape, options)
    return _played(SCENARIOS[name](shape), name, options)


def _measured_warm(shape: Shape, options: argparse.Namespace) -> Result:
    """Measures without understudies first. A member's time to load is then the time an understudy gets to load."""
    with tempfile.TemporaryDirectory(prefix="understudy-bench-") as place:
        made = program(Path(place), options.import_seconds)
        cold = _played(scenarios.warm(shape, made, 0), "cold", options)
        settling = cold["steps"]["rendezvous"]["took_p99_ms"] / 1e3 + 0.5
        wanted = msgspec.structs.replace(scenarios.warm(shape, made, 1), settling=settling)
        try:
            return report.compared(cold, _played(wanted, WARM, options))
        except NeverSeen as error:
            return report.compared(cold, None, str(error).splitlines()[0])


def _played(scenario: Scenario, title: str, options: argparse.Namespace) -> Result:
    count = options.incidents or (QUICK if options.quick else INCIDENTS)
    load = bench_cluster.full_load(bench_cluster.cores()) if options.load else contextlib.nullcontext()
    with bench_cluster.cluster(scenario.pools) as folder, load:
        played = uvloop.run(play(folder, scenario, options.kind, count, _progress(title, count)))
    return report.result(scenario, options.kind, played) | {"load": options.load}


def _progress(name: str, count: int) -> Progress:
    """Shows progress: on a terminal one line that is overwritten, else a line now and then."""
    rewritten, every = sys.stderr.isatty(), max(1, count // 10)

    def show(number: int, moments: Moments) -> None:
        words = f"{name}: {number + 1} of {count}, the last took {total(moments):.0f} ms"
        if rewritten:
            print(f"\r\033[K{words}", end="" if number + 1 < count else "\n", file=sys.stderr, flush=True)
        elif (number + 1) % every == 0:
            print(words, file=sys.stderr, flush=True)

    return show


def _wanted(given: Sequence[str] | None) -> list[str]:
    names = given or ["all"]
    return [*SCENARIOS, WARM] if "all" in names else list(dict.fromkeys(names))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
    parser = argparse.ArgumentParser(prog="python -m bench.hotswap", description=__doc__, epilog=f"Kinds: {kinds}.")
    names = [*SCENARIOS, WARM, "all"]
    parser.add_argument(
        "--scenario", choices=names, action="extend", nargs="+", help="default: all; several are allowed"
    )
    parser.add_argument("--incidents", type=int, default=0, help=f"of each scenario (default: {INCIDENTS})")
    parser.add_argument("--processes", type=int, default=8, help="pods, and accelerators, of a node (default: 8)")
    parser.add_argument("--kind", choices=list(KINDS), default="jobset", help="of the jobs (default: jobset)")
    parser.add_argument("--grace", type=int, default=0, help="seconds of grace that the victim needs (default: none)")
    seconds = "that a library takes to load where neither jax nor torch is installed (default: 1.5)"
    parser.add_argument("--import-seconds", type=float, default=1.5, help=seconds)
    parser.add_argument("--load", action="store_true", help="with as many busy processes as there are cores")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} incidents, to see that it works")
    parser.add_argument("--json", action="store_true", help="one JSON line a scenario")
    options = parser.parse_args(arguments)
    if options.incidents < 0 or options.processes < 1 or options.grace < 0:
        parser.error("--incidents and --grace must not be negative, and --processes must be at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
