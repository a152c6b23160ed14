"""Times a scenario: decodes its documents, puts them into a view, takes the snapshot, plans, and checks the plan."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.decide import plan_checks
from bench.decide.documents import NOW, Document
from bench.decide.scenarios import Scenario
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.kinds.decoding import decode_json
from understudy.model.plans import Plan, Start
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject

Result = dict[str, str | int | float]

ROOT = Path(__file__).resolve().parents[2]


class Round(msgspec.Struct, frozen=True):
    """One pass over a scenario, in seconds."""

    build: float  # every object put, snapshot taken
    react: float  # what changed afterwards put, snapshot taken again
    plan: float

    @property
    def total(self) -> float:
        return self.build + self.react + self.plan


@contextmanager
def garbage_collector_off() -> Iterator[None]:
    """The cyclic collector walks every object there is, again and again, and finds nothing: the model has no cycles."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def decoded(documents: list[Document]) -> tuple[list[KubeObject], float]:
    """The objects, each from its own JSON text as off the wire, and the seconds that decoding took.

    The documents are used up: what was needed to make them would otherwise lie between the objects in memory.
    """
    texts = [msgspec.json.encode(document) for document in documents]
    documents.clear()
    began = time.perf_counter()
    objects = [decode_json(text) for text in texts]
    return objects, time.perf_counter() - began


def filled(objects: Iterable[KubeObject]) -> tuple[ClusterView, Snapshot]:
    view = ClusterView()
    for obj in objects:
        view.put(obj)
    return view, view.snapshot(NOW)


def measure(name: str, nodes: int, scenario: Scenario) -> Result:
    """Times one round of the scenario, in a process that has warmed up with similar rounds."""
    with garbage_collector_off():
        objects, decode_seconds = decoded(scenario.documents)
        changes, _ = decoded(scenario.failures)
        once, snapshot, answer = _round(objects, changes)
    scenario.check(snapshot, answer)
    return {
        "scenario": name,
        "nodes": nodes,
        "total_seconds": round(once.total, 6),
        "plan_seconds": round(once.plan, 6),
        "victims": len(plan_checks.victims(answer)),
        "starts": sum(isinstance(action, Start) for action in answer.actions),
        "objects": len(objects),
        "decode_seconds": round(decode_seconds, 6),
        "build_seconds": round(once.build, 6),
    }


def afresh(name: str, nodes: int, repeats: int) -> Result:
    """The median of rounds that had a process of their own each: memory that others have used before is slower."""
    command = [
        sys.executable,
        "-m",
        "bench.decide",
        "--scenario",
        name,
        "--nodes",
        str(nodes),
        "--repeats",
        "1",
        "--json",
    ]
    rounds: list[Result] = []
    for _ in range(repeats):
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        rounds.append(msgspec.json.decode(output))
    times = [key for key in rounds[0] if key.endswith("_seconds")]
    return {
        **rounds[-1],
        **{key: round(statistics.median(float(r[key]) for r in rounds), 6) for key in times},
        **{f"best_{key}": min(float(r[key]) for r in rounds) for key in ("total_seconds", "plan_seconds")},
        "repeats": repeats,
    }


def reference_loop() -> float:
    """Seconds this machine needs for a fixed piece of plain Python: the yardstick to compare machines and runs by."""
    began = time.perf_counter()
    counts: dict[int, int] = {}
    for i in range(300_000):
        key = i * 2_654_435_761 % 65_521
        counts[key] = counts.get(key, 0) + i
    sorted(counts.items(), key=lambda pair: (pair[1], pair[0]))
    return time.perf_counter() - began


def _round(objects: list[KubeObject], changes: list[KubeObject]) -> tuple[Round, Snapshot, Plan]:
    began = time.perf_counter()
    view, snapshot = filled(objects)
    built = time.perf_counter()
    for change in changes:
        view.put(change)
    snapshot = view.snapshot(NOW) if changes else snapshot
    reacted = time.perf_counter()
    answer = plan(snapshot, Policy(), NOW)
    ended = time.perf_counter()
    return Round(built - began, reacted - built, ended - reacted), snapshot, answer
