"""Results into tables: who bound how fast, whom a preemption disturbed, how soon a lost pod was replaced."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.kube.contenders import GATED, OURS
from bench.kube.dying import DEFAULT_SECONDS

Result = dict[str, Any]

BIND_TARGET = 2.0  # times as many pods a second as kube-scheduler with the gates on
PREEMPT_TARGET = 0.5  # of the time it takes
WANTED = 4  # gangs that have to go for four slices
SILENCE_TARGET, SAID_TARGET = 25.0, 2.0  # seconds after a death that nobody tells of, and after one that is told


def lines(found: Sequence[Result]) -> Iterator[str]:
    for size in dict.fromkeys(row["nodes"] for row in found if row["case"] == "side by side"):
        yield from _side_by_side(size, {r["scheduler"]: r for r in found if r.get("nodes") == size})
    deaths = [row for row in found if row["case"] == "death"]
    if deaths:
        yield from _deaths(deaths)


def _side_by_side(size: int, rows: dict[str, Result]) -> Iterator[str]:
    yield f"{size} nodes in slices of 16"
    yield _row("", "pods/s", "gangs split", "four slices in", "gangs disturbed", "broken")
    for name, row in rows.items():
        filled, taken = row["filled"], row["preempted"]
        seconds = f"{taken['seconds']:.2f} s"
        yield _row(name, f"{filled['rate']:.0f}", filled["split"], seconds, taken["disturbed"], taken["broken"])
    if GATED.name in rows and OURS.name in rows:
        yield from _verdicts(rows[GATED.name], rows[OURS.name])
    yield ""


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


def _row(name: str, *cells: object) -> str:
    return f"  {name:<26}" + "".join(f"{cell!s:>17}" for cell in cells)
