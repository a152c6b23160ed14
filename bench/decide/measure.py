"""Times a scenario: decodes its documents, puts them into a view, takes the snapshot, plans, and checks the plan."""

import gc
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from bench.decide import answers
from bench.decide.documents import NOW, Document
from bench.decide.scenarios import Scenario
from understudy.control.view import View
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.model.plans import Plan, Start
from understudy.model.snapshot import Snapshot
from understudy.objects import KubeObject, decode_json

Result = dict[str, str | int | float]


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


def decoded(documents: Iterable[Document]) -> tuple[list[KubeObject], float]:
    """The objects, each from its own JSON text as off the wire, and the seconds that decoding took."""
    objects, seconds = [], 0.0
    for document in documents:
        text = msgspec.json.encode(document)
        began = time.perf_counter()
        objects.append(decode_json(text))
        seconds += time.perf_counter() - began
    return objects, seconds


def filled(objects: Iterable[KubeObject]) -> tuple[View, Snapshot]:
    view = View()
    for obj in objects:
        view.put(obj)
    return view, view.snapshot(NOW)


def measure(name: str, nodes: int, scenario: Scenario, repeats: int) -> Result:
    rounds = []
    with garbage_collector_off():
        objects, decode_seconds = decoded(scenario.documents)
        changes, _ = decoded(scenario.failures)
        for _ in range(repeats):
            once, snapshot, answer = _round(objects, changes)
            scenario.check(snapshot, answer)
            rounds.append(once)
            del snapshot
    return {
        "scenario": name,
        "nodes": nodes,
        "total_seconds": _median(r.total for r in rounds),
        "plan_seconds": _median(r.plan for r in rounds),
        "victims": len(answers.victims(answer)),
        "starts": sum(isinstance(action, Start) for action in answer.actions),
        "objects": len(objects),
        "decode_seconds": round(decode_seconds, 6),
        "build_seconds": _median(r.build for r in rounds),
        "react_seconds": _median(r.react + r.plan for r in rounds),
        "best_total_seconds": round(min(r.total for r in rounds), 6),
        "best_plan_seconds": round(min(r.plan for r in rounds), 6),
        "first_total_seconds": round(rounds[0].total, 6),
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


def _median(seconds: Iterable[float]) -> float:
    return round(statistics.median(seconds), 6)
