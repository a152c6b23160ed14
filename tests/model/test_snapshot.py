"""The laws of the snapshot: kept up to date event by event it is what it would be from scratch, and never changes."""

import random
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decide.random_clusters import RACK, SLICE, Cluster, clusters
from tests.examples import examples
from understudy.model.gangs import Gang, Island, Member, Shape, Topology, TopologyMode
from understudy.model.nodes import Node, Verdict
from understudy.model.snapshot import Snapshot


class Event(NamedTuple):
    """One change. A node or gang that is None goes by its name."""

    name: str
    node: Node | None = None
    gang: Gang | None = None
    is_gang: bool = False


def applied(snapshot: Snapshot, event: Event) -> Snapshot:
    if event.is_gang:
        gone, come = ((), (event.gang,)) if event.gang else ((event.name,), ())
        return snapshot.updated(gangs=come, gone_gangs=gone)
    lost, found = ((), (event.node,)) if event.node else ((event.name,), ())
    return snapshot.updated(nodes=found, gone_nodes=lost)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """What two clusters hold, arriving in any order, some of it gone again, some of it twice in different states."""
    events: list[Event] = []
    for world in (draw(clusters()), draw(clusters())):
        events += [Event(node.name, node=node) for node in world.nodes]
        events += [Event(gang.key, gang=gang, is_gang=True) for gang in world.gangs]
    gone = draw(st.lists(st.sampled_from(events), max_size=8))
    events += [Event(e.name, is_gang=e.is_gang) for e in gone]
    return draw(st.permutations(events))


def last_of(events: Iterable[Event]) -> tuple[list[Node], list[Gang]]:
    nodes: dict[str, Node | None] = {}
    gangs: dict[str, Gang | None] = {}
    for event in events:
        if event.is_gang:
            gangs[event.name] = event.gang
        else:
            nodes[event.name] = event.node
    return [n for n in nodes.values() if n], [g for g in gangs.values() if g]


KEYS = (SLICE, RACK)


def plain(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as dicts and sets, without the counts of topologies that no gang has any more."""
    return {
        "nodes": dict(snapshot.nodes.items()),
        "gangs": dict(snapshot.gangs.items()),
        "budgets": snapshot.budgets,
        "open": set(snapshot.open),
        "holding": set(snapshot.holding),
        "with_anti_affinity": set(snapshot.with_anti_affinity),
        "unhealthy": set(snapshot.unhealthy),
        "spares": set(snapshot.spares),
        "leaving": set(snapshot.leaving),
        "running": {priority: set(keys) for priority, keys in snapshot.running.items()},
        "buckets": {bucket: set(names) for bucket, names in snapshot.buckets.items()},
        "domains": {key: dict(values.items()) for key, values in snapshot.domains.items()},
        "topologies": {key: set(names) for key, names in snapshot.topologies.items()},
        "domain_gangs": {
            key: {value: dict(gangs.items()) for value, gangs in snapshot.domain_gangs[key].items()}
            for key in snapshot.topologies
        },
    }


@given(histories())
@settings(max_examples=examples(150))
def test_events_one_by_one_give_the_snapshot_from_scratch(events: list[Event]) -> None:
    grown = Snapshot.of(index=KEYS)
    for event in events:
        grown = applied(grown, event)
    nodes, gangs = last_of(events)
    scratch = Snapshot.of(nodes, gangs, index=KEYS)
    assert plain(grown) == plain(scratch)


@given(histories(), st.integers(1, 7))
@settings(max_examples=examples(60))
def test_batches_give_the_same_as_single_events(events: list[Event], size: int) -> None:
    single = batched = Snapshot.of(index=KEYS)
    for start in range(0, len(events), size):
        chunk = events[start : start + size]
        nodes, gangs = last_of(chunk)
        named = {n.name for n in nodes} | {g.key for g in gangs}
        gone = [e for e in chunk if e.name not in named]
        batched = batched.updated(
            nodes, gangs, [e.name for e in gone if not e.is_gang], [e.name for e in gone if e.is_gang]
        )
        for event in chunk:
            single = applied(single, event)
    assert plain(batched) == plain(single)


@given(clusters())
@settings(max_examples=examples(100))
def test_indexes_say_what_a_naive_count_says(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    gangs, infos = dict(snapshot.gangs.items()), dict(snapshot.nodes.items())
    seen = plain(snapshot)
    assert seen["open"] == {k for k, g in gangs.items() if g.managed and g.unseated()}
    assert seen["holding"] == {k for k, g in gangs.items() if g.holds}
    there = {k: (*g.seated(), *g.leaving) for k, g in gangs.items()}
    assert seen["with_anti_affinity"] == {k for k, pods in there.items() if any(m.shape.anti_affinity for m in pods)}
    assert seen["unhealthy"] == {k for k, r in infos.items() if r.node.health.verdict is not Verdict.HEALTHY}
    assert seen["spares"] == {k for k, r in infos.items() if r.node.spare}
    assert seen["leaving"] == {k for k, g in gangs.items() if g.leaving}
    running = {k for k, g in gangs.items() if g.managed and not g.infrastructure and g.seated()}
    levels = {gangs[k].priority for k in running}
    assert seen["running"] == {level: {k for k in running if gangs[k].priority == level} for level in levels}
    shelved = {(bucket, name) for bucket, names in snapshot.buckets.items() for name in names}
    assert shelved == {(r.bucket, name) for name, r in infos.items() if r.node.usable}
    named = {(i.topology.key, k) for k, g in gangs.items() for i in g.islands if i.topology is not None}
    assert {(key, name) for key, names in snapshot.topologies.items() for name in names} == named


@given(clusters())
@settings(max_examples=examples(100))
def test_rooms_and_domains_say_what_a_naive_count_says(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    for node in cluster.nodes:
        there = [(g, m) for g in cluster.gangs for m in (*g.seated(), *g.leaving) if m.node == node.name]
        info = snapshot.nodes[node.name]
        assert [(s.gang, s.member.name) for s in info.seats] == sorted((g.key, m.name) for g, m in there)
        for resource in {*node.allocatable, *info.free}:
            used = sum(dict(m.shape.requests).get(resource, 0) for _, m in there)
            assert info.free.get(resource, 0) == node.allocatable.get(resource, 0) - used
    for key, values in snapshot.domains.items():
        labelled = {n.name: n.labels[key] for n in cluster.nodes if key in n.labels}
        assert {n: v for v, names in values.items() for n in names} == labelled
        assert all(list(names) == sorted(names) for names in values.values())
        for value, tenants in snapshot.domain_gangs[key].items():
            for name, count in tenants.items():
                gang = snapshot.gangs[name]
                assert count == sum(labelled.get(m.node) == value for m in (*gang.seated(), *gang.leaving))


@given(histories(), st.integers(0, 2**16))
@settings(max_examples=examples(60))
def test_an_update_leaves_the_original_alone(events: list[Event], seed: int) -> None:
    chance = random.Random(seed)
    snapshot = Snapshot.of(index=KEYS)
    for event in events:
        if chance.random() < 0.3:
            before = plain(snapshot)
            applied(snapshot, event)
            assert plain(snapshot) == before
        snapshot = applied(snapshot, event)


def test_a_node_that_goes_with_pods_on_it_is_a_lost_node() -> None:
    world = one_pod()
    gone = world.snapshot().updated(gone_nodes=["n"])
    assert gone.nodes["n"].node.health.verdict is Verdict.LOST
    assert "n" in gone.unhealthy
    assert not len(gone.buckets)
    empty = gone.updated(gone_gangs=[world.gangs[0].key])
    assert "n" not in empty.nodes
    assert "n" not in empty.unhealthy


def one_pod() -> Cluster:
    gang = Gang("Job/default/g", "Job", "default", "g", (Island("i", (Member("m", Shape((("cpu", 1),)), node="n"),)),))
    return Cluster((Node("n", allocatable={"cpu": 4}),), (gang,))


def with_topology(gang: Gang) -> Gang:
    placed = msgspec.structs.replace(gang.islands[0], topology=Topology(SLICE, TopologyMode.EXCLUSIVE))
    return msgspec.structs.replace(gang, islands=(placed,))


def test_a_topology_that_a_gang_had_only_within_one_batch_is_counted_nowhere() -> None:
    world = one_pod()
    labelled, gang = msgspec.structs.replace(world.nodes[0], labels={SLICE: "s"}), world.gangs[0]
    batched = Snapshot.of([labelled]).updated(gangs=[with_topology(gang), gang])
    single = Snapshot.of([labelled]).updated(gangs=[with_topology(gang)]).updated(gangs=[gang])
    scratch = Snapshot.of([labelled], [gang])
    assert plain(batched)["topologies"] == plain(single)["topologies"] == plain(scratch)["topologies"] == {}
    assert plain(batched)["domain_gangs"] == plain(single)["domain_gangs"] == plain(scratch)["domain_gangs"] == {}


def test_a_topology_that_comes_back_finds_the_pods_that_came_and_went_meanwhile() -> None:
    world = one_pod()
    labelled, gang = msgspec.structs.replace(world.nodes[0], labels={SLICE: "s"}), world.gangs[0]
    newcomer = msgspec.structs.replace(gang, key="Job/default/h", name="h")
    snapshot = Snapshot.of([labelled], [with_topology(gang)]).updated(gone_gangs=[gang.key]).updated(gangs=[newcomer])
    assert list(snapshot.topologies) == []
    later = snapshot.updated(gangs=[with_topology(gang)])
    assert dict(later.domain_gangs[SLICE]["s"].items()) == {gang.key: 1, newcomer.key: 1}


def test_indexing_by_a_new_key_finds_pods_that_were_there_before() -> None:
    world = one_pod()
    labelled = msgspec.structs.replace(world.nodes[0], labels={SLICE: "s"})
    snapshot = Snapshot.of([labelled], world.gangs)
    assert SLICE not in snapshot.domains
    island = msgspec.structs.replace(
        world.gangs[0].islands[0], name="j", topology=Topology(SLICE, TopologyMode.EXCLUSIVE)
    )
    newcomer = Gang("Job/default/h", "Job", "default", "h", (island,)).reseated({"m": ""})
    later = snapshot.updated(gangs=[newcomer])
    assert dict(later.domains[SLICE].items()) == {"s": ("n",)}
    assert dict(later.domain_gangs[SLICE]["s"].items()) == {"Job/default/g": 1}
