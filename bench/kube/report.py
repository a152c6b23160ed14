"""Results into tables: pods bound a second, gangs that a preemption disturbed, what a load costs, replaced pods."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from bench.kube.node_loss import DEFAULT_SECONDS
from bench.kube.schedulers import GATED, OURS

Result = dict[str, Any]

BIND_TARGET = 2.0  # times as many pods a second as kube-scheduler with the gates on
PREEMPT_TARGET = 0.5  # of the time it takes
WANTED = 4  # gangs that have to go for four slices
SILENCE_TARGET, SAID_TARGET = 25.0, 2.0  # seconds after an unreported death, and after a reported one


def lines(found: Sequence[Result]) -> Iterator[str]:
    for size in dict.fromkeys(row["nodes"] for row in found if row["case"] == "side by side"):
        yield from _side_by_side(size, medians(row for row in found if row.get("nodes") == size))
    deaths = [row for row in found if row["case"] == "death"]
    if deaths:
        yield from _deaths(deaths)


def medians(found: Iterable[Result]) -> list[Result]:
    """One row for each scheduler and load: the median of the measured values, and the worst of the counted ones."""
    rounds: dict[tuple[str, int], list[Result]] = {}
    for row in found:
        rounds.setdefault((row["scheduler"], row["busy_loops"]), []).append(row)
    return [_median(rows) for rows in rounds.values()]


def _median(rows: Sequence[Result]) -> Result:
    filled, taken = [row["filled"] for row in rows], [row["preempted"] for row in rows]
    return {
        **rows[0],
        "rounds": len(rows),
        "filled": {"rate": median(one["rate"] for one in filled), "split": max(one["split"] for one in filled)},
        "preempted": {
            "seconds": median(one["seconds"] for one in taken),
            **{count: max(one[count] for one in taken) for count in ("disturbed", "broken", "split")},
        },
    }


def slowdown(idle: Result, loaded: Result) -> tuple[float, float]:
    """The factor by which the same work takes longer under load: to bind a pod, and to take four slices."""
    binding = idle["filled"]["rate"] / loaded["filled"]["rate"]
    return binding, loaded["preempted"]["seconds"] / idle["preempted"]["seconds"]


def _side_by_side(size: int, rows: Sequence[Result]) -> Iterator[str]:
    idle = {row["scheduler"]: row for row in rows if not row["busy_loops"]}
    yield f"{size} nodes in slices of 16" + _rounds(rows)
    yield from _idle(idle)
    for loops in sorted({row["busy_loops"] for row in rows} - {0}):
        yield f"{size} nodes, idle and beside {loops} busy loops" + _rounds(rows)
        yield from _loaded(idle, [row for row in rows if row["busy_loops"] == loops])
    yield ""


def _rounds(rows: Sequence[Result]) -> str:
    count = max(row["rounds"] for row in rows)
    return f" (medians of {count} rounds)" if count > 1 else ""


def _idle(rows: dict[str, Result]) -> Iterator[str]:
    yield _row("", "pods/s", "gangs split", "four slices in", "gangs disturbed", "broken")
    for name, row in rows.items():
        filled, taken = row["filled"], row["preempted"]
        seconds = f"{taken['seconds']:.2f} s"
        yield _row(name, f"{filled['rate']:.0f}", filled["split"], seconds, taken["disturbed"], taken["broken"])
    if GATED.name in rows and OURS.name in rows:
        yield from _verdicts(rows[GATED.name], rows[OURS.name])


def _loaded(idle: dict[str, Result], rows: Iterable[Result]) -> Iterator[str]:
    yield _narrow("", "pods/s", "loaded", "slower", "4 slices", "loaded", "slower", "disturbed", "broken")
    for row in rows:
        before = idle[row["scheduler"]]
        binding, taking = slowdown(before, row)
        rates = [f"{one['filled']['rate']:.0f}" for one in (before, row)]
        seconds = [f"{one['preempted']['seconds']:.2f} s" for one in (before, row)]
        counts = [row["preempted"][count] for count in ("disturbed", "broken")]
        yield _narrow(row["scheduler"], *rates, f"{binding:.1f} x", *seconds, f"{taking:.1f} x", *counts)


def _verdicts(peer: Result, ours: Result) -> Iterator[str]:
    faster = ours["filled"]["rate"] / peer["filled"]["rate"]
    share = ours["preempted"]["seconds"] / peer["preempted"]["seconds"]
    disturbed = ours["preempted"]["disturbed"]
    yield f"  bound {faster:.1f} times as fast as with the gates on ({_met(faster >= BIND_TARGET)}: {BIND_TARGET:g})"
    yield f"  four slices in {share:.2f} of its time ({_met(share <= PREEMPT_TARGET)}: {PREEMPT_TARGET:g})"
    yield f"  {disturbed} gangs disturbed ({_met(disturbed == WANTED)}: {WANTED})"


def _deaths(rows: Iterable[Result]) -> Iterator[str]:
    yield "a node dies under a job: seconds until its replacement is bound"
    yield _row("", "scheduler", "seconds", "target", "")
    for row in rows:
        target = SILENCE_TARGET if row["manner"] == "silence" else SAID_TARGET
        ours = row["scheduler"] == OURS.name
        met = f"{target:g} ({_met(row['seconds'] <= target)})" if ours else ""
        yield _row(row["manner"], row["scheduler"], f"{row['seconds']:.2f}", met)
    if all(row["scheduler"] == OURS.name for row in rows):
        yield f"  without us {DEFAULT_SECONDS:g} s by Kubernetes' defaults; --patient measures it"


def _met(is_so: bool) -> str:
    return "target met" if is_so else "target MISSED"


def _narrow(name: str, *cells: object) -> str:
    return f"  {name:<26}" + "".join(f"{cell!s:>11}" for cell in cells)


def _row(name: str, *cells: object) -> str:
    return f"  {name:<26}" + "".join(f"{cell!s:>17}" for cell in cells)
