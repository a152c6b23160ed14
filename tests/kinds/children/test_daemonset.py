"""One pod on each node that should have one, whatever happens to nodes and templates."""

from typing import Any

from tests.kinds.children.world import World, moment
from tests.objects.documents import metadata, node, template
from understudy.kinds.children.actions import CreateChild
from understudy.kinds.children.daemonset import FAILED_PAUSE, FOR_NODE

LABELS = {"app": "exporter"}
GPU_NODE = {"labels": {"gpu": "yes"}}


class Daemons(World):
    def __init__(self, *nodes: str, pod: dict[str, Any] | None = None, **spec: Any) -> None:
        given = {"selector": {"matchLabels": LABELS}, "template": template(labels=LABELS, **(pod or {})), **spec}
        meta = metadata("exporter", generation=1)
        super().__init__({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": given})
        self.bring(*(node(name) for name in nodes))

    def _create(self, create: CreateChild) -> None:
        """The scheduler puts every pod on its node."""
        super()._create(create)
        for pod in self.pods.values():
            pod["spec"]["nodeName"] = pod["metadata"]["annotations"][FOR_NODE]

    def finish(self) -> list[int]:
        """How many nodes have a ready pod at every step until nothing changes."""
        ready: list[int] = []
        before = ["nothing yet"]
        for _ in range(50):
            self.look()
            if sorted(self.live()) == before:
                return ready
            before = sorted(self.live())
            ready.append(sum(bool(self.pods[name]["status"].get("conditions")) for name in self.live()))
            self.leave()
            self.run()
        raise AssertionError("it does not come to rest")

    def nodes(self) -> list[str]:
        return sorted(self.pods[name]["spec"]["nodeName"] for name in self.live())


def test_every_node_has_one_pod_pinned_to_it() -> None:
    world = Daemons("a", "b", "c")
    world.finish()
    assert world.nodes() == ["a", "b", "c"]
    pod = next(iter(world.pods.values()))
    [term] = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchFields"][0]["values"] == [pod["spec"]["nodeName"]]
    assert (world.status["desiredNumberScheduled"], world.status["numberAvailable"]) == (3, 3)


def test_a_new_node_gets_its_pod() -> None:
    world = Daemons("a")
    world.finish()
    world.bring(node("b"))
    world.finish()
    assert world.nodes() == ["a", "b"]


def test_only_nodes_that_the_pod_may_go_to_count() -> None:
    world = Daemons("plain", pod={"nodeSelector": {"gpu": "yes"}})
    taint = {"key": "reserved", "value": "x", "effect": "NoSchedule"}
    world.bring(node("gpu", GPU_NODE), node("tainted", GPU_NODE, taints=[taint]))
    world.bring(node("cordoned", GPU_NODE, unschedulable=True))
    world.finish()
    assert world.nodes() == ["cordoned", "gpu"]
    assert world.status["desiredNumberScheduled"] == 2


def test_a_pod_leaves_a_node_that_it_may_not_stay_on() -> None:
    world = Daemons("a", "b")
    world.finish()
    taint = {"key": "maintenance", "effect": "NoExecute"}
    world.bring(node("b", taints=[taint]))
    world.finish()
    assert world.nodes() == ["a"]
    world.bring(node("a", taints=[{"key": "reserved", "effect": "NoSchedule"}]))
    world.finish()
    assert world.nodes() == ["a"]
    assert world.status["numberMisscheduled"] == 1


def test_a_failed_pod_is_replaced_after_a_pause() -> None:
    world = Daemons("a")
    world.finish()
    [failed] = world.live()
    world.end(failed, 1)
    world.look()
    assert failed in world.pods
    assert world.again_at == world.now + FAILED_PAUSE
    world.after(FAILED_PAUSE)
    world.finish()
    assert len(world.live()) == 1
    assert failed not in world.live()


def test_an_update_takes_as_many_nodes_as_may_be_without_a_pod() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    world = Daemons("a", "b", "c", "d", "e", updateStrategy=rolling)
    world.finish()
    world.parent["spec"]["template"]["spec"]["containers"][0]["image"] = "exporter:2"
    assert min(world.finish()) == 3
    assert {pod["spec"]["containers"][0]["image"] for pod in world.pods.values()} == {"exporter:2"}
    assert world.status["updatedNumberScheduled"] == 5


def test_with_on_delete_an_update_waits_for_pods_to_be_deleted() -> None:
    world = Daemons("a", "b", updateStrategy={"type": "OnDelete"})
    world.finish()
    world.parent["spec"]["template"]["spec"]["containers"][0]["image"] = "exporter:2"
    world.finish()
    assert world.status.get("updatedNumberScheduled", 0) == 0
    world.delete(world.live()[0])
    world.finish()
    assert world.status["updatedNumberScheduled"] == 1


def test_of_two_pods_on_a_node_the_older_one_stays() -> None:
    world = Daemons("a")
    world.finish()
    [first] = world.live()
    twin = {**world.pods[first], "metadata": {**world.pods[first]["metadata"], "name": "twin", "uid": "twin"}}
    twin["metadata"]["creationTimestamp"] = moment(world.now + 5)
    world.pods["twin"] = twin
    world.finish()
    assert world.live() == [first]
