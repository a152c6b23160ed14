"""Prints results as a table: each figure beside its target, the published figure of a peer, and this machine's pace."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.decide.measure import Result

# (scenario, nodes) -> which figure of the result may be at most how much
TARGETS: Mapping[tuple[str, int], tuple[str, float]] = {
    ("kai-reclaim", 1_000): ("total_seconds", 0.1),
    ("kai-reclaim", 5_000): ("total_seconds", 0.5),
    ("kai-reclaim", 16_000): ("total_seconds", 2.0),
    ("slices", 5_000): ("plan_seconds", 0.005),
    ("slices", 16_000): ("plan_seconds", 0.015),
    ("burst", 16_000): ("plan_seconds", 0.010),
    ("cold-start", 16_000): ("total_seconds", 2.0),
    ("mass-suspect", 15_000): ("plan_seconds", 1.0),
}
EVENT_LIMIT_US = 100.0
KAI_FILE = "kai_reclaim_benchmark.csv"
_ROW = "{:<12} {:>7} {:>10} {:>10} {:>10}  {:<17} {:<7} {:>6} {:>12} {:>12}"
_EVENTS_ROW = "{:<12} {:>7} {:>11} {:>11} {:>11} {:>11} {:>14}"


def kai_figures(anchors: Path) -> dict[int, float | None]:
    """Nodes -> seconds KAI published for its reclaim benchmark; None where it did not finish in 40 minutes."""
    with (anchors / KAI_FILE).open(newline="") as lines:
        rows = csv.DictReader(lines)
        return {int(row["nodes"]): float(row["kai_seconds"]) if row["kai_seconds"] else None for row in rows}


def rows(results: Iterable[Result], kai: Mapping[int, float | None], pace: float) -> Iterable[str]:
    """One line a timed plan; `pace` is what the reference loop took on this machine."""
    yield _ROW.format("scenario", "nodes", "total", "best total", "plan", "target", "", "loops", "KAI", "KAI / ours")
    for result in results:
        scenario, nodes = str(result["scenario"]), int(result["nodes"])
        total, planning = float(result["total_seconds"]), float(result["plan_seconds"])
        target, verdict = _against_target(result)
        peer, ratio = _against_kai(kai, nodes, total) if scenario.startswith("kai-reclaim") else ("", "")
        times = (_time(total), _time(float(result.get("best_total_seconds", total))), _time(planning))
        yield _ROW.format(scenario, nodes, *times, target, verdict, f"{total / pace:.1f}", peer, ratio)


def event_rows(results: Iterable[Result]) -> Iterable[str]:
    yield _EVENTS_ROW.format("scenario", "nodes", "pod event", "node event", "heartbeat", "quiet cycle", "target")
    for result in results:
        figures = (f"{float(result[key]):.0f} us" for key in _EVENT_KEYS)
        worst = max(float(result["pod_event_us"]), float(result["node_event_us"]))
        verdict = f"{EVENT_LIMIT_US:.0f} us {_verdict(worst <= EVENT_LIMIT_US)}"
        yield _EVENTS_ROW.format("events", result["nodes"], *figures, verdict)


def growth_rows(results: Iterable[Result]) -> Iterable[str]:
    """Microseconds a node: a column of equal figures is linear growth."""
    yield "{:<12} {:>7} {:>11} {:>11} {:>14}".format("growth of", "nodes", "total", "plan", "total a node")
    for result in results:
        total, nodes = float(result["total_seconds"]), int(result["nodes"])
        figures = (_time(total), _time(float(result["plan_seconds"])), f"{total / nodes * 1e6:.1f} us")
        yield "{:<12} {:>7} {:>11} {:>11} {:>14}".format(str(result["scenario"]), nodes, *figures)


_EVENT_KEYS = ("pod_event_us", "node_event_us", "heartbeat_us", "quiet_cycle_us")


def _against_target(result: Result) -> tuple[str, str]:
    target = TARGETS.get((str(result["scenario"]), int(result["nodes"])))
    if target is None:
        return "", ""
    figure, limit = target
    what = "plan" if figure == "plan_seconds" else "total"
    return f"{what} <= {_time(limit)}", _verdict(float(result[figure]) <= limit)


def _against_kai(kai: Mapping[int, float | None], nodes: int, ours: float) -> tuple[str, str]:
    if nodes not in kai:
        return "", ""
    theirs = kai[nodes]
    return ("over 40 min", f"over {2400 / ours:,.0f}") if theirs is None else (_time(theirs), f"{theirs / ours:,.1f}")


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
