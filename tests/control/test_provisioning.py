"""Volumes that are made only where their first pod is to be: the loop says where, and waits for them."""

from typing import Any

from tests.control.living import Living, live
from tests.control.test_releasing import gpu_job, gpus
from tests.objects.documents import Document, node, priority_class
from understudy.kinds.annotations import HOLDS
from understudy.objects.resources import CLAIMS, JOBS, NODES, PODS
from understudy.objects.volumes import SELECTED_NODE

MAKER = "disks.example"


def storage_class(name: str = "fast", **more: Any) -> Document:
    late = {"provisioner": MAKER, "volumeBindingMode": "WaitForFirstConsumer"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **late, **more}


def claim(name: str) -> Document:
    spec = {"storageClassName": "fast", "accessModes": ["ReadWriteMany"]}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def using(job: Document, *claims: str) -> Document:
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]
    job["spec"]["template"]["spec"]["volumes"] = volumes
    return job


def indexed(name: str, size: int, priority: str = "high") -> Document:
    return gpu_job(name, priority, parallelism=size, completions=size, completionMode="Indexed")


def prepare(world: Living, *nodes: str) -> None:
    for name, value in (("low", 1), ("high", 3)):
        world.cluster.put(priority_class(name, value))
    for name in nodes:
        ready = [{"type": "Ready", "status": "True"}]
        world.cluster.put(node(name, {"labels": {"zone": name}}, allocatable=gpus(8), conditions=ready))
    world.cluster.put(storage_class())
    world.cluster.put(claim("data"))


def make_volume(world: Living, name: str, zone: str = "") -> None:
    """What the maker of volumes does when it finds a node selected."""
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if zone else {}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": spec}
    world.cluster.put(volume)
    found = world.cluster.find(CLAIMS, name)
    found["spec"]["volumeName"] = f"pv-{name}"
    world.cluster.change(found)


def selected(world: Living, name: str = "data") -> str:
    return str(world.cluster.find(CLAIMS, name)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))


def waiting_words(world: Living) -> set[str]:
    names = [pod["metadata"]["name"] for pod in world.cluster.all(PODS) if "nodeName" not in pod["spec"]]
    return {world.condition(name, "PodScheduled")["message"] for name in names}


def test_its_node_is_selected_its_seats_are_kept_and_it_starts_when_the_volume_is_there() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a", "b")
        world.cluster.put(using(indexed("train", 2), "data"))
        await world.settle()
        assert selected(world) in ("a", "b")
        assert world.seats() == {}
        assert world.cluster.find(JOBS, "train")["metadata"]["annotations"].get(HOLDS)
        (words,) = waiting_words(world)
        assert f"PersistentVolumeClaim default/data has yet to be made, for node {selected(world)}" in words
        world.cluster.put(indexed("lesser", 1, "low"))
        await world.settle()
        assert world.seats() == {}, "nobody else gets them meanwhile"
        make_volume(world, "data")
        await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]
        assert all(name.startswith("train") for name in world.seats())
        assert not world.cluster.find(JOBS, "train")["metadata"]["annotations"].get(HOLDS)

    live(story)


def test_where_it_is_made_decides_where_its_pods_go() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a", "b")
        world.cluster.put(using(indexed("train", 1), "data"))
        await world.settle()
        other = {"a": "b", "b": "a"}[selected(world)]
        make_volume(world, "data", zone=other)
        await world.settle()
        assert list(world.seats().values()) == [other]

    live(story)


def test_every_volume_is_waited_for() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a")
        world.cluster.put(claim("logs"))
        world.cluster.put(using(indexed("train", 1), "data", "logs"))
        await world.settle()
        assert (selected(world, "data"), selected(world, "logs")) == ("a", "a")
        make_volume(world, "data")
        await world.settle()
        assert world.seats() == {}
        make_volume(world, "logs")
        await world.settle()
        assert list(world.seats().values()) == ["a"]

    live(story)


def test_another_node_is_selected_when_none_can_be_made_there_or_the_node_is_gone() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a")
        world.cluster.put(using(indexed("train", 1), "data"))
        await world.settle()
        assert selected(world) == "a"
        found = world.cluster.find(CLAIMS, "data")
        del found["metadata"]["annotations"][SELECTED_NODE]  # as its maker does that cannot make it there
        world.cluster.find(NODES, "a")["spec"]["unschedulable"] = True
        world.cluster.change(world.cluster.find(NODES, "a"))
        world.cluster.put(node("b", allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        world.cluster.change(found)
        await world.settle()
        assert selected(world) == "b"
        world.cluster.take_away(world.cluster.find(NODES, "b"))
        world.cluster.put(node("c", allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        await world.settle()
        assert selected(world) == "c"

    live(story)


def test_a_claim_that_comes_with_its_pod_is_waited_for() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a")
        world.cluster.take_away(world.cluster.find(CLAIMS, "data"))
        own = indexed("train", 1)
        own["spec"]["template"]["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {}}]
        world.cluster.put(own)
        await world.settle()
        assert world.seats() == {}
        (pod,) = world.cluster.all(PODS)
        name = f"{pod['metadata']['name']}-scratch"
        (words,) = waiting_words(world)
        assert f"PersistentVolumeClaim default/{name} has yet to be made" in words
        world.cluster.put(claim(name))
        await world.settle()
        assert selected(world, name) == "a"
        make_volume(world, name, zone="a")
        await world.settle()
        assert list(world.seats().values()) == ["a"]

    live(story)


def test_a_restart_in_between_selects_nothing_else() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a", "b", "c")
        world.cluster.put(using(indexed("train", 2), "data"))
        await world.settle()
        before = selected(world)
        await world.restart()
        await world.settle()
        assert selected(world) == before
        make_volume(world, "data", zone="")
        await world.settle()
        assert before in world.seats().values()

    live(story)


def test_who_is_made_room_for_has_his_volume_made_when_there_is_room() -> None:
    async def story(world: Living) -> None:
        prepare(world, "a")
        world.cluster.put(indexed("lesser", 1, "low"))
        await world.settle()
        world.clock.jump(600.0)
        world.hands.clinging.add("Job/default/lesser")
        world.cluster.put(using(indexed("train", 1), "data"))
        await world.settle()
        assert selected(world) == ""
        world.hands.clinging.clear()
        await world.settle()
        assert selected(world) == "a"
        make_volume(world, "data")
        await world.settle()
        assert [name for name in world.seats() if name.startswith("train")]

    live(story)
