"""`python -m bench.decide`: times one scenario as JSON lines, or all of them as a table."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.decide import table
from bench.decide.events import measure_events
from bench.decide.measure import Result, afresh, measure, reference_loop
from bench.decide.scenarios import SCENARIOS

ANCHORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "anchors"
SIZES: Mapping[str, tuple[int, ...]] = {
    "kai-reclaim": (100, 500, 1_000, 5_000, 16_000),
    "kai-reclaim-jobs": (1_000, 16_000),
    "kai-reclaim-half": (100, 500, 1_000, 5_000, 16_000),
    "slices": (1_000, 5_000, 16_000),
    "burst": (1_000, 16_000),
    "cold-start": (1_000, 16_000),
    "queue": (1_000, 16_000),
    "mass-suspect": (1_000, 15_000),
    "events": (1_000, 16_000),
    "growth": (16_000,),
}
QUICK = {
    "kai-reclaim": (100,),
    "kai-reclaim-jobs": (100,),
    "kai-reclaim-half": (100,),
    "slices": (160,),
    "burst": (160,),
    "cold-start": (160,),
    "queue": (160,),
    "mass-suspect": (320,),
    "events": (100,),
    "growth": (320,),
}
WARM_UP = 640  # nodes of the warm-up rounds, which are not measured
GROWTH = ("kai-reclaim", "slices", "cold-start")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    if options.scenario is None:
        _print_table(QUICK if options.quick else SIZES, options.anchors, options.repeats)
        return
    for nodes in options.nodes or (QUICK if options.quick else SIZES)[options.scenario]:
        for result in results(options.scenario, nodes, options.repeats):
            print(msgspec.json.encode(result).decode() if options.json else _plain(result), flush=True)


def results(scenario: str, nodes: int, repeats: int) -> Iterator[Result]:
    if scenario == "events":
        yield measure_events(nodes, repeats)
    elif scenario == "growth":
        yield from _growth(nodes, repeats)
    else:
        yield _measured(scenario, nodes, repeats)


def _growth(largest: int, repeats: int) -> Iterator[Result]:
    """Each scenario from a sixteenth of the size on, doubling."""
    for name in GROWTH:
        for nodes in sorted({max(64, largest // step) for step in (16, 8, 4, 2, 1)}):
            yield _measured(name, nodes, repeats)


def _measured(scenario: str, nodes: int, repeats: int) -> Result:
    if repeats > 1:
        return afresh(scenario, nodes, repeats)
    for _ in range(3):
        measure(scenario, min(nodes, WARM_UP), SCENARIOS[scenario](min(nodes, WARM_UP)))
    return measure(scenario, nodes, SCENARIOS[scenario](nodes))


def _print_table(sizes: Mapping[str, tuple[int, ...]], anchors: Path, repeats: int) -> None:
    pace = min(reference_loop() for _ in range(5))
    print(f"this machine: {pace * 1e3:.0f} ms for the reference loop, the unit of column `loops`")
    print(f"figures: median of {repeats} processes; every plan was checked to be right; garbage collector off")
    for line in table.kai_notes(anchors):
        print(line)
    kai = table.kai_figures(anchors)

    def measured(scenario: str) -> Iterator[Result]:
        for nodes in sizes[scenario]:
            yield from results(scenario, nodes, repeats)

    plans = (result for scenario in SCENARIOS for result in measured(scenario))
    tables = (table.rows(plans, kai, pace), table.event_rows(measured("events")), table.growth_rows(measured("growth")))
    for lines in tables:
        print()
        for line in lines:
            print(line, flush=True)


def _plain(result: Result) -> str:
    return "  ".join(f"{key}={value}" for key, value in result.items())


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.decide", description=__doc__)
    parser.add_argument("--scenario", choices=[*SCENARIOS, "events", "growth"], help="default: all, as a table")
    parser.add_argument("--nodes", type=int, action="append", help="size of the cluster; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON line a result")
    parser.add_argument("--quick", action="store_true", help="small clusters, to see that it works")
    parser.add_argument("--repeats", type=int, default=5, help="processes a result is the median of (default: 5)")
    parser.add_argument("--anchors", type=Path, default=ANCHORS, help="folder with the figures measured on peers")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or min(options.nodes or [64]) < 64:
        parser.error("--repeats must be at least 1, and --nodes at least 64")
    return options


if __name__ == "__main__":
    main()
