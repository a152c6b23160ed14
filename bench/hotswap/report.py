"""Prints what was measured: each figure beside its target and beside what stock Kubernetes takes for the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.hotswap.bench_cluster import CONDITIONS, cores
from bench.hotswap.invariants import IN_FLIGHT
from bench.hotswap.runner import ScenarioResult
from bench.hotswap.scenarios import Scenario
from bench.hotswap.timeline import RECORDED, by_step, spread, total

STOCK_SECONDS = 350.0  # the node is given up after 50 s and its pods after 300 s more; then they hang in Terminating

Result = dict[str, Any]


def result(scenario: Scenario, kind: str, played: ScenarioResult) -> Result:
    totals = [total(moments) for moments in played.moments]
    figures = spread(totals)
    return {
        "scenario": scenario.name,
        "incidents": len(played.moments),
        **figures,
        "max_ms": round(max(totals), 1),
        "steps": by_step(played.moments),
        "targets": {
            name: {"at_most": limit, "met": figures[name] <= limit} for name, limit in scenario.targets.items()
        },
        "stock_kubernetes_ms": STOCK_SECONDS * 1e3,
        "times_as_quick": round(STOCK_SECONDS * 1e3 / figures["p50_ms"], 1),
        "recorded": by_step(played.recorded, RECORDED),
        "swaps_told": _range(played.swaps),
        "plans": _range(played.plans),
        "healthy_moved": played.moved,
        "violations": played.verdict.violations,
        "violated": played.verdict.described,
        "looks": played.verdict.looks,
        "kind": kind,
        "members": {gang.name: gang.size for gang in scenario.gangs},
        "cores": cores(),
        "conditions": [*scenario.conditions, *CONDITIONS],
    }


def compared(cold: Result, warm: Result | None, why: str = "") -> Result:
    """The figures with understudies, beside those of the same incident without; `why` says why there are none."""
    figures = {name: cold[name] for name in ("p50_ms", "p99_ms", "steps")}
    if warm is None:
        return cold | {"cold": figures, "understudies": False, "conditions": [*cold["conditions"], f"COLD ONLY: {why}"]}
    both = {name: count + cold["violations"][name] for name, count in warm["violations"].items()}
    return warm | {
        "cold": figures,
        "understudies": True,
        "cold_to_warm": round(cold["p50_ms"] / warm["p50_ms"], 1),
        "violations": both,
        "violated": [*cold["violated"], *warm["violated"]],
    }


def _range(counts: Sequence[int]) -> dict[str, int]:
    return {"fewest": min(counts), "most": max(counts)}


def is_clean(found: Result) -> bool:
    return not any(found["violations"].values())


def lines(found: Result) -> Iterator[str]:
    members = ", ".join(f"{name} of {size}" for name, size in found["members"].items())
    yield f"{found['scenario']}: {found['incidents']} incidents, {found['kind']} {members}, {found['cores']} cores"
    yield f"  {'step':<12} {'p50':>10} {'p99':>10}   {'of which p50':>12} {'p99':>10}"
    for step, figures in found["steps"].items():
        at = f"{figures['p50_ms']:>7.1f} ms {figures['p99_ms']:>7.1f} ms"
        yield f"  {step:<12} {at}   {figures['took_p50_ms']:>9.1f} ms {figures['took_p99_ms']:>7.1f} ms"
    yield f"  {'total':<12} {found['p50_ms']:>7.1f} ms {found['p99_ms']:>7.1f} ms   at most {found['max_ms']:.1f} ms"
    for name, target in found["targets"].items():
        verdict = "met" if target["met"] else "MISSED"
        yield f"  {name.removesuffix('_ms')} at most {target['at_most']:g} ms: {verdict}"
    if found.get("understudies"):
        cold = found["cold"]
        slower = f"{found['cold_to_warm']:g} times as long"
        yield f"  {'without':<12} {cold['p50_ms']:>7.1f} ms {cold['p99_ms']:>7.1f} ms   an understudy: {slower}"
    ratio = f"{found['times_as_quick']:,.0f} times as quick"
    yield f"  stock Kubernetes: {STOCK_SECONDS:g} s, and then the pods hang; this is {ratio}"
    own = ", ".join(f"{step} {figures['p50_ms']:.1f}" for step, figures in found["recorded"].items())
    yield f"  as the cluster recorded it, p50 in ms: {own}"
    told, plans = found["swaps_told"], found["plans"]
    yield f"  an incident, plans made: {_between(plans)}, swaps told of: {_between(told)}"
    yield f"  healthy members moved: {found['healthy_moved']}; violations: {_counted(found['violations'])}"
    yield f"  ({found['looks']} looks at /proc; a bind is in flight for {IN_FLIGHT:g} s at most)"
    yield from (f"    {words}" for words in found["violated"])
    yield from (f"  {words}" for words in found["conditions"])


def _between(counts: Mapping[str, int]) -> str:
    fewest, most = counts["fewest"], counts["most"]
    return str(most) if fewest == most else f"{fewest} to {most}"


def _counted(violations: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in violations.items())
