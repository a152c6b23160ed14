"""A ReplicaSet keeps so many pods: it makes what is missing, and takes away what has the least to lose."""

from typing import Any

from tests.kinds.children.world import BEGIN, World, moment
from tests.objects.documents import Document, metadata, template

LABELS = {"app": "web"}


def replica_set(replicas: int = 3, **spec: Any) -> World:
    given = {"selector": {"matchLabels": LABELS}, "template": template(labels=LABELS), **spec}
    meta = metadata("web", generation=4)
    return World(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": replicas, **given}}
    )


def ready(world: World, name: str, since: float = BEGIN, **meta: Any) -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": moment(since)}
    world.pods[name]["status"] = {"phase": "Running", "conditions": [condition]}
    world.pods[name]["metadata"] |= meta


def counts(status: Document) -> tuple[int, int, int]:
    return status["replicas"], status.get("readyReplicas", 0), status.get("availableReplicas", 0)


def test_missing_pods_are_made_of_the_template() -> None:
    world = replica_set()
    world.look()
    assert len(world.pods) == 3
    pod = next(iter(world.pods.values()))
    assert pod["metadata"]["labels"] == LABELS
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    assert counts(world.status) == (3, 0, 0)
    assert world.status["observedGeneration"] == 4


def test_a_pod_that_leaves_is_replaced_at_once_and_counted_as_terminating() -> None:
    world = replica_set(2)
    world.look()
    world.run()
    first = world.live()[0]
    world.delete(first)
    world.look()
    assert len(world.live()) == 2
    assert world.status["terminatingReplicas"] == 1
    world.gone(first)
    world.look()
    assert "terminatingReplicas" not in world.status


def test_a_failed_pod_is_replaced_and_left_to_be_looked_at() -> None:
    world = replica_set(1)
    world.look()
    [failed] = world.live()
    world.end(failed, 1)
    world.look()
    assert failed in world.pods
    assert len(world.live()) == 1


def test_surplus_pods_that_are_not_ready_go_first_then_the_cheapest_then_the_newest_ready() -> None:
    world = replica_set(5)
    world.look()
    cheap, new, old, oldest = sorted(world.pods)[1:]
    cost = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    ready(world, cheap, annotations=cost)
    ready(world, new, since=BEGIN + 90)
    ready(world, old, since=BEGIN + 10)
    ready(world, oldest)
    left = []
    for replicas in (4, 3, 2, 1):
        world.parent["spec"]["replicas"] = replicas
        world.look()
        world.leave()
        left.append(set(world.pods))
    assert left == [{cheap, new, old, oldest}, {new, old, oldest}, {old, oldest}, {oldest}]


def test_a_pod_is_available_after_it_was_ready_for_long_enough() -> None:
    world = replica_set(1, minReadySeconds=30)
    world.look()
    ready(world, world.live()[0])
    world.after(10)
    world.look()
    assert counts(world.status) == (1, 1, 0)
    assert world.again_at == BEGIN + 30
    world.after(20)
    world.look()
    assert counts(world.status) == (1, 1, 1)


def test_a_pod_that_lost_its_labels_loses_its_owner_and_is_replaced() -> None:
    world = replica_set(1)
    world.look()
    [quarantined] = world.live()
    world.pods[quarantined]["metadata"]["labels"] = {"app": "quarantine"}
    patches = world.wanted().patches
    assert [patch.name for patch in patches] == [quarantined]
    world.carry_out(world.wanted())
    assert world.pods[quarantined]["metadata"]["ownerReferences"] == []
    assert len(world.live()) == 2


def test_a_deleted_set_makes_nothing() -> None:
    world = replica_set()
    world.parent["metadata"]["deletionTimestamp"] = moment(BEGIN)
    world.look()
    assert world.pods == {}
