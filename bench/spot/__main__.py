"""`python -m bench.spot`: spot machines come and go as in a real trace; what jobs lose with and without notices."""

import argparse
import sys
from collections.abc import Sequence

import msgspec

from bench.hotswap.bench_cluster import cores
from bench.spot import report, traces
from bench.spot.modes import MODES
from bench.spot.replay import NeverStarted, Setting, machines, replay
from bench.spot.workload import Pace
from understudy.cli.clusters.temporary import signals_as_interrupt

SECONDS, QUICK_SECONDS = 300.0, 35.0
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    trace = options.trace or ("bamboo-p3" if traces.DATA.is_dir() else "synthetic")
    try:
        setting = _setting(options, trace)
    except traces.BadTrace as problem:
        print(f"bench.spot: {problem}", file=sys.stderr)
        return 2
    outcomes = []
    try:
        with signals_as_interrupt():
            for mode in options.mode or MODES:
                outcomes.append(replay(setting, MODES[mode]))
                print(f"{mode}: done", file=sys.stderr, flush=True)
    except NeverStarted as problem:
        print(f"bench.spot: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    if options.json:
        print(msgspec.json.encode(outcomes).decode())
    else:
        print("\n".join([*report.conditions(setting, trace), f"{cores()} cores", "", *report.lines(outcomes)]))
    return 0 if report.is_clean(outcomes) else 1


def _setting(options: argparse.Namespace, trace: str) -> Setting:
    seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    names = machines(options.spot)
    events = traces.sped_up(traces.clipped(traces.read(trace), names), options.speed)
    begin = traces.busiest(events, seconds) if options.begin is None else options.begin * 3600 / options.speed
    return Setting(
        events=traces.window(events, begin, seconds),
        spot=names,
        on_demand=options.on_demand,
        sizes=options.jobs,
        seconds=seconds,
        speed=options.speed,
        notice=options.notice,
        pace=Pace(step=options.step, save=options.save, every=options.every),
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    modes = "; ".join(f"{mode.name}: {mode.about}" for mode in MODES.values())
    parser = argparse.ArgumentParser(prog="python -m bench.spot", description=__doc__, epilog=f"Modes: {modes}.")
    known = ", ".join(traces.TRACES)
    parser.add_argument("--trace", help=f"{known}, or a file in Bamboo's form (default: bamboo-p3, else synthetic)")
    parser.add_argument("--mode", choices=list(MODES), action="extend", nargs="+", help="default: all")
    parser.add_argument("--spot", type=int, default=8, help="spot machines of one accelerator (default: 8)")
    parser.add_argument("--on-demand", type=int, default=2, help="machines that stay (default: 2)")
    parser.add_argument("--jobs", type=int, nargs="+", default=[4, 2], help="members of each job (default: 4 2)")
    parser.add_argument("--speed", type=float, default=100.0, help="of the trace (default: 100)")
    parser.add_argument("--seconds", type=float, default=0.0, help=f"of each mode (default: {SECONDS:g})")
    parser.add_argument("--begin", type=float, help="hours into the trace (default: where most machines go)")
    parser.add_argument("--notice", type=float, default=8.0, help="seconds, not sped up (default: 8)")
    parser.add_argument("--step", type=float, default=0.02, help="seconds a step takes (default: 0.02)")
    parser.add_argument("--save", type=float, default=0.2, help="seconds a checkpoint takes (default: 0.2)")
    parser.add_argument("--every", type=int, default=100, help="steps from checkpoint to checkpoint (default: 100)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS:g} s of each mode, to see that it works")
    parser.add_argument("--json", action="store_true", help="figures for programs")
    options = parser.parse_args(arguments)
    wrong = [name for name in ("spot", "speed", "step", "every") if getattr(options, name) <= 0]
    wrong += [name for name in ("on_demand", "notice", "save", "seconds") if getattr(options, name) < 0]
    if wrong or min(options.jobs) < 1:
        parser.error(f"--{(wrong or ['jobs'])[0].replace('_', '-')} is too small")
    return options


if __name__ == "__main__":
    sys.exit(main())
