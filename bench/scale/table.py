"""Prints what was measured as tables: each figure beside its target, each way of decoding beside ours."""

from collections.abc import Iterator
from typing import Any

DECODE_CPU, MEMORY_MB, FIRST_DECISION = 1.5, 500.0, 10.0
FULL_PODS = 100_000  # the size that the targets are for
SORTS = {  # of events, which are told in these words
    "leases": "lease renewals", "pods": "statuses of pods", "nodes": "statuses of nodes",
    "persistentvolumeclaims": "notes on claims",
}  # fmt: skip
_ROW = "{:<42} {:>10} {:>12} {:<7}"
_DECODING = "{:<12} {:>10} {:>10} {:>10} {:>10} {:>12}"
_WAYS = {
    "ours": "understudy", "dicts": "plain dicts", "standard": "json", "lightkube": "lightkube",
    "kubernetes": "kubernetes",
}  # fmt: skip

Result = dict[str, Any]


def lines(result: Result) -> Iterator[str]:
    yield f"{result['nodes']:,} nodes, {result['pods']:,} pods, {result['megabytes']:,} MB of JSON"
    yield ""
    yield from _start(result)
    yield ""
    yield from _decoded(result["decoding"])
    yield ""
    yield from _events(result)


def event_costs(phases: Result) -> Result:
    """Seconds of CPU for 1,000 events of each sort; the leases, which go on all the time, are taken off the others."""
    leases = phases["leases"]
    a_second = leases["cpu_seconds"] / leases["wall_seconds"]
    costs = {"leases": 1e3 * leases["cpu_seconds"] / max(1, leases["pushed"]["leases"]), "leases_share": a_second}
    for sort in SORTS.keys() - {"leases"}:
        phase = phases[sort]
        own = phase["cpu_seconds"] - a_second * phase["wall_seconds"]
        costs[sort] = 1e3 * max(0.0, own) / max(1, phase["pushed"][sort])
    return costs


def _start(result: Result) -> Iterator[str]:
    start, decoding = result["start"], result["decoding"]["ours"]
    judged = result["pods"] >= FULL_PODS
    cpu = decoding["pods_cpu_seconds"] + decoding["nodes_cpu_seconds"]
    kept = decoding["pods_mb"] + decoding["nodes_mb"]
    yield _ROW.format("from the start of the process", "", "target", "")
    for name, figure, unit, limit in (
        ("pods and nodes decoded, CPU", cpu, "s", DECODE_CPU),
        ("memory of the decoded objects", kept, "MB", MEMORY_MB),
        ("most memory of the whole process", start["peak_mb"], "MB", MEMORY_MB),
        ("first decision at the API server, wall", start["first_bind"], "s", FIRST_DECISION),
        ("first decision carried out, CPU", start["first_plan_cpu"], "s", None),
    ):
        target = f"<= {limit:g} {unit}" if limit is not None and judged else ""
        verdict = ("met" if figure <= limit else "MISSED") if limit is not None and judged else ""
        yield _ROW.format(name, _figure(figure, unit), target, verdict).rstrip()


def _decoded(decoding: Result) -> Iterator[str]:
    yield _DECODING.format("decoding", "pods", "nodes", "memory", "CPU", "of ours")
    ours = decoding["ours"]["pods_cpu_seconds"] + decoding["ours"]["nodes_cpu_seconds"]
    for way, run in decoding.items():
        cpu = run["pods_cpu_seconds"] + run["nodes_cpu_seconds"]
        memory = f"{run['pods_mb'] + run['nodes_mb']:,.0f} MB"
        times = (f"{run['pods_cpu_seconds']:.2f} s", f"{run['nodes_cpu_seconds']:.2f} s")
        yield _DECODING.format(_WAYS[way], *times, memory, f"{cpu:.2f} s", f"{cpu / ours:.1f} x")


def _events(result: Result) -> Iterator[str]:
    costs = result["events"]
    yield "CPU for 1,000 events"
    for sort, words in SORTS.items():
        yield f"  {words:<20} {costs[sort] * 1e3:8.1f} ms"
    rate = result["nodes"] / 10
    yield f"  {rate:,.0f} renewals a second, as this cluster has them, take {costs['leases_share']:.1%} of a processor"


def _figure(value: float, unit: str) -> str:
    return f"{value:.0f} MB" if unit == "MB" else f"{value:.2f} s"
