"""Times what one change costs: an event put into a full cluster's view, snapshot taken; and a cycle with no change."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from bench.decide.documents import NOW, node
from bench.decide.measure import Result, decoded, filled, garbage_collector_off
from bench.decide.scenarios import quiet
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import Node
from understudy.objects.pods import Pod

Event = Callable[[], None]


def measure_events(nodes: int, repeats: int) -> Result:
    scenario = quiet(nodes)
    with garbage_collector_off():
        objects, decode_seconds = decoded(scenario.documents)
        began = time.perf_counter()
        view, snapshot = filled(objects)
        built = time.perf_counter() - began
        began = time.perf_counter()
        answer = plan(snapshot, Policy(), NOW)
        planned = time.perf_counter() - began
        scenario.check(snapshot, answer)
        pods = [obj for obj in objects if isinstance(obj, Pod)]
        machines = [obj for obj in objects if isinstance(obj, Node)]
        pod_us = _each(view, _pod_events(view, _sample(pods, 100 * repeats)))
        node_us = _each(view, _node_events(view, _sample(machines, 100 * repeats)))
        beat_us = _each(view, _heartbeats(view, _sample(machines, 100 * repeats)))
        quiet_us = _quiet_cycle(view, repeats)
    return {
        "scenario": "events",
        "nodes": nodes,
        "total_seconds": round(built + planned, 6),
        "plan_seconds": round(planned, 6),
        "victims": 0,
        "pod_event_us": pod_us,
        "node_event_us": node_us,
        "heartbeat_us": beat_us,
        "quiet_cycle_us": quiet_us,
        "objects": len(objects),
        "decode_seconds": round(decode_seconds, 6),
        "repeats": repeats,
    }


def _pod_events(view: ClusterView, pods: Iterable[KubeObject]) -> Iterable[Event]:
    """Two events for each pod: it goes, and it comes back."""
    for pod in pods:
        yield partial(view.remove, pod)
        yield partial(view.put, pod)


def _node_events(view: ClusterView, nodes: Iterable[KubeObject]) -> Iterable[Event]:
    """Two events for each node: it fails, and it recovers."""
    for healthy in nodes:
        (failed,), _ = decoded([node(healthy.metadata.name, failed=True)])
        yield partial(view.put, failed)
        yield partial(view.put, healthy)


def _heartbeats(view: ClusterView, nodes: Iterable[KubeObject]) -> Iterable[Event]:
    """One event for each node: it reports an unchanged state."""
    for healthy in nodes:
        again = msgspec.structs.replace(healthy)
        yield partial(view.put, again)


def _each(view: ClusterView, events: Iterable[Event]) -> float:
    """The median microseconds of an event and the snapshot after it."""
    times = []
    for event in events:
        began = time.perf_counter()
        event()
        view.snapshot(NOW)
        times.append(time.perf_counter() - began)
    return round(statistics.median(times) * 1e6, 1)


def _quiet_cycle(view: ClusterView, repeats: int) -> float:
    """The median microseconds of a snapshot and a plan when nothing has happened since the last."""
    times = []
    for _ in range(10 * repeats):
        began = time.perf_counter()
        snapshot: Snapshot = view.snapshot(NOW)
        plan(snapshot, Policy(), NOW)
        times.append(time.perf_counter() - began)
    return round(statistics.median(times) * 1e6, 1)


def _sample(objects: Sequence[KubeObject], count: int) -> Sequence[KubeObject]:
    return objects[:: max(1, len(objects) // count)][:count]
