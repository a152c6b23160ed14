"""Prints results as a table: each figure beside its target, KAI's figure for the same question, and this machine's
pace."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mean

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
# KAI's design documents of April 2026: a gang wants a tenth of so many nodes -> seconds
KAI_PUBLISHED: Mapping[int, float] = {500: 9.17, 1_000: 76.3}
KAI_FILE = "kai_reclaim_half_measured.csv"  # its own benchmark, measured: a gang wants half of the nodes
KaiFigures = Mapping[str, Mapping[int, float]]  # scenario -> nodes -> seconds
_ROW = "{:<16} {:>7} {:>10} {:>10} {:>10}  {:<17} {:<7} {:>6} {:>12} {:>12}"
_EVENTS_ROW = "{:<16} {:>7} {:>11} {:>11} {:>11} {:>11} {:>14}"


def kai_figures(anchors: Path) -> KaiFigures:
    """Both series by scenario. A size that was measured several times has the mean of its runs; without the file of
    measured figures there is no second series."""
    return {"kai-reclaim": KAI_PUBLISHED, "kai-reclaim-half": _measured_half(anchors)}


def kai_notes(anchors: Path) -> Iterator[str]:
    """Notes on the source of KAI's figures, and on the work in KAI's time that ours does not contain."""
    yield "KAI beside kai-reclaim: its design documents of April 2026 (an older one: over 40 minutes at 1,000 nodes);"
    yield "  the solver that followed takes 1.4 to 1.6 s at 500 nodes on another machine; at 1,000 none is published"
    if (anchors / KAI_FILE).exists():
        yield "KAI beside kai-reclaim-half: its own benchmark, measured on two cores"
    else:
        yield f"KAI beside kai-reclaim-half: the measured figures are not shown, there is no {anchors / KAI_FILE}"
    yield "KAI's session also computes the fair share of every queue and simulates the eviction of each set of victims;"
    yield "  Understudy has no queues of this kind, and its time contains reading the objects"


def _measured_half(anchors: Path) -> dict[int, float]:
    runs: dict[int, list[float]] = {}
    if (anchors / KAI_FILE).exists():
        with (anchors / KAI_FILE).open(newline="") as lines:
            for row in csv.DictReader(lines):
                runs.setdefault(int(row["nodes"]), []).append(float(row["seconds"]))
    return {nodes: mean(seconds) for nodes, seconds in runs.items()}


def rows(results: Iterable[Result], kai: KaiFigures, pace: float) -> Iterable[str]:
    """One line for each timed plan; `pace` is the time of the reference loop on this machine."""
    yield _ROW.format("scenario", "nodes", "total", "best total", "plan", "target", "", "loops", "KAI", "KAI / ours")
    for result in results:
        scenario, nodes = str(result["scenario"]), int(result["nodes"])
        total, planning = float(result["total_seconds"]), float(result["plan_seconds"])
        target, verdict = _against_target(result)
        peer, ratio = _against_kai(kai.get(scenario, {}), nodes, total)
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


def _against_kai(kai: Mapping[int, float], nodes: int, ours: float) -> tuple[str, str]:
    return (_time(kai[nodes]), f"{kai[nodes] / ours:,.1f}") if nodes in kai else ("", "")


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
