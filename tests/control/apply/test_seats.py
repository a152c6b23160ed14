"""Seats are kept, taken and given volumes."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.control.apply.test_seat_release import gpu_job, gpus, notes, with_victim
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.decide.builders import queued
from tests.objects.documents import Document, job, node, pod, pod_spec, priority_class
from tests.scenarios.test_random_walks import jobset, torch
from understudy.control.apply.seats import MAX_ANNOTATION, seats_note
from understudy.control.view.gang_parts import is_seatable, wants_a_seat
from understudy.kinds.annotations import HOLDS, PREFIX
from understudy.kinds.decoding import decode
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.model.gangs import Gang
from understudy.objects.pods import Pod
from understudy.objects.resources import CLAIMS, JOB_SETS, JOBS, MPI_JOBS_V1ALPHA1, NODES, PODS
from understudy.objects.volumes import SELECTED_NODE


def placed(gang: Gang) -> Gang:
    """The same gang, with pods that fill places of lasting names."""
    islands = [
        replace(island, members=tuple(replace(m, name=f"{m.name}-x7k2p", place=m.name) for m in island.members))
        for island in gang.islands
    ]
    return replace(gang, islands=tuple(islands))


def test_seats_go_by_places_since_pods_come_and_go() -> None:
    gang = placed(queued("g", members=2))
    assert seats_note(gang, {"g-1-x7k2p": "b", "g-0-x7k2p": "a"}) == "g-0=a,g-1=b"


def test_seats_of_pods_that_fill_any_place_go_by_the_pods() -> None:
    assert seats_note(queued("g", members=1), {"g-0": "a", "g-9": "b"}) == "g-0=a,g-9=b"


@pytest.mark.parametrize(
    ("document", "seatable", "wants"),
    [
        (pod("p"), True, True),
        (pod("p", "n"), False, False),
        (pod("p", status={"phase": "Failed"}), False, False),
        (pod("p", schedulingGates=[{"name": "kueue.x-k8s.io/topology"}]), False, True),
    ],
)
def test_who_can_be_seated(document: Document, seatable: bool, wants: bool) -> None:
    found = decode(document)
    assert isinstance(found, Pod)
    assert (is_seatable(found), wants_a_seat(found)) == (seatable, wants)


def test_nothing_is_written_where_there_is_nothing_to_write_or_too_much() -> None:
    count = MAX_ANNOTATION // 8
    assert seats_note(queued("g"), {}) is None
    assert seats_note(queued("g", members=count), {f"g-{i}": "node" for i in range(count)}) is None


def mpi(name: str, workers: int) -> Document:
    template = {"spec": {**pod_spec({"nvidia.com/gpu": "4"}), "priorityClassName": "middle"}}
    spec = {"replicas": workers, "template": template}
    return {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": name}, "spec": spec}


def test_pods_that_are_made_when_others_run_have_their_seats_held_until_then() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        world.cluster.put(mpi("late", 2))
        await world.clock.let_pass(0.5)
        world.hands.act()  # the workers are made
        await world.clock.let_pass(0.5)
        assert sorted(world.seats()) == ["late-worker-0", "late-worker-1"]
        assert notes(world, MPI_JOBS_V1ALPHA1, "late")["holds"] == "late-launcher=a"
        await world.settle()
        assert sorted(world.seats()) == ["late-launcher", "late-worker-0", "late-worker-1"]
        assert set(notes(world, MPI_JOBS_V1ALPHA1, "late")) == {"last-seats"}
        assert not [reason for reason, _ in world.events("late") if reason == "HotSwapped"]

    run_scenario(scenario)


def test_an_elastic_gang_starts_with_what_fits_and_grows_by_those_who_are_there() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("wide", 3, "low", gpus=4, min_members="1"))
        assert len(world.seats()) == 2
        world.cluster.put(node("b", allocatable=gpus(4)))
        await world.settle()
        assert len(world.seats()) == 3
        assert notes(world, PYTORCH_JOBS, "wide")["last-seats"].count("=") == 3

    run_scenario(scenario)


def test_a_jobset_that_is_restarted_goes_back_to_its_old_seats() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("b", "c", "d"):
            world.cluster.put(node(name, allocatable=gpus(8)))
        await with_victim(world, torch("first", 1, "middle"), jobset("slices", 1, "low"))
        before = sorted(world.seats().values())
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "first"))
        for each in list(world.hands.pods_of("JobSet/default/slices")):
            world.cluster.take_away(each)
        await world.settle()
        after = [node for name, node in world.seats().items() if name.startswith("slices")]
        assert sorted(after) == [node for node in before if node != "a"]
        assert notes(world, JOB_SETS, "slices")["last-seats"] == "slices-job-0-0=b,slices-job-0-1=c"

    run_scenario(scenario)


def test_pods_without_a_number_go_back_to_any_of_their_old_seats() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("b", "c", "d", "e"):
            world.cluster.put(node(name, allocatable=gpus(8)))
        template = {"metadata": {}, "spec": {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "low"}}
        await with_victim(
            world,
            torch("first", 2, "middle"),
            job("sweep", parallelism=2, completions=2, template=template),
        )
        assert {name: seat for name, seat in world.seats().items() if "sweep" in name} == {
            "sweep-0-x1": "c",
            "sweep-1-x2": "d",
        }
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "first"))
        for each in list(world.hands.pods_of("Job/default/sweep")):
            world.cluster.take_away(each)
        await world.settle()
        assert sorted(world.seats().values()) == ["c", "d"]

    run_scenario(scenario)


def test_a_preempted_job_that_its_owner_suspends_stays_suspended_even_if_the_news_comes_late() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 2, "low", gpus=4))
        world.cluster.put(gpu_job("hero", "high"))
        await world.settle()
        victim = world.cluster.find(PYTORCH_JOBS, "victim")
        assert victim["spec"]["runPolicy"] == {"suspend": True}
        world.cluster.hold_back(PYTORCH_JOBS)
        del victim["metadata"]["annotations"][f"{PREFIX}requeued-at"]
        world.cluster.change(victim)
        world.cluster.take_away(world.cluster.find(JOBS, "hero"))
        written = len(world.cluster.writes)
        while "patch pytorchjobs.kubeflow.org victim" not in world.cluster.writes[written:]:  # its seats are held
            world.hands.act()
            await world.clock.let_pass(1.0)
        world.hands.act()
        await world.clock.let_pass(60.0)
        world.cluster.let_through(PYTORCH_JOBS)
        await world.settle()
        assert victim["spec"]["runPolicy"] == {"suspend": True}
        assert not world.seats()

    run_scenario(scenario)


def test_a_promised_seat_stays_promised_until_it_is_taken_though_others_of_the_gang_are_yet_to_be_made() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        late = mpi("late", 2)
        seats = "late-launcher=a,late-worker-0=a,late-worker-1=a"
        late["metadata"]["annotations"] = {f"{PREFIX}holds": seats}
        world.cluster.put(late)
        world.cluster.before_write = lambda what: told.append((what, notes(world, MPI_JOBS_V1ALPHA1, "late")["holds"]))
        await world.settle()
        assert sorted(world.seats()) == ["late-launcher", "late-worker-0", "late-worker-1"]
        assert next(holds for what, holds in told if what.startswith("bind")) == seats

    told: list[tuple[str, str]] = []
    run_scenario(scenario)


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


def prepare(world: LoopHarness, *nodes: str) -> None:
    for name, value in (("low", 1), ("high", 3)):
        world.cluster.put(priority_class(name, value))
    for name in nodes:
        ready = [{"type": "Ready", "status": "True"}]
        world.cluster.put(node(name, {"labels": {"zone": name}}, allocatable=gpus(8), conditions=ready))
    world.cluster.put(storage_class())
    world.cluster.put(claim("data"))


def make_volume(world: LoopHarness, name: str, zone: str = "") -> None:
    """What the maker of volumes does when it finds a node selected."""
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if zone else {}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": spec}
    world.cluster.put(volume)
    found = world.cluster.find(CLAIMS, name)
    found["spec"]["volumeName"] = f"pv-{name}"
    world.cluster.change(found)


def selected(world: LoopHarness, name: str = "data") -> str:
    return str(world.cluster.find(CLAIMS, name)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))


def waiting_words(world: LoopHarness) -> set[str]:
    names = [pod["metadata"]["name"] for pod in world.cluster.all(PODS) if "nodeName" not in pod["spec"]]
    return {world.condition(name, "PodScheduled")["message"] for name in names}


def test_its_node_is_selected_its_seats_are_kept_and_it_starts_when_the_volume_is_there() -> None:
    async def scenario(world: LoopHarness) -> None:
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
        assert world.seats() == {}, "no other gang gets them meanwhile"
        make_volume(world, "data")
        await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]
        assert all(name.startswith("train") for name in world.seats())
        assert not world.cluster.find(JOBS, "train")["metadata"]["annotations"].get(HOLDS)

    run_scenario(scenario)


def test_where_it_is_made_decides_where_its_pods_go() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepare(world, "a", "b")
        world.cluster.put(using(indexed("train", 1), "data"))
        await world.settle()
        other = {"a": "b", "b": "a"}[selected(world)]
        make_volume(world, "data", zone=other)
        await world.settle()
        assert list(world.seats().values()) == [other]

    run_scenario(scenario)


def test_every_volume_is_waited_for() -> None:
    async def scenario(world: LoopHarness) -> None:
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

    run_scenario(scenario)


def test_another_node_is_selected_when_none_can_be_made_there_or_the_node_is_gone() -> None:
    async def scenario(world: LoopHarness) -> None:
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

    run_scenario(scenario)


def test_a_claim_that_comes_with_its_pod_is_waited_for() -> None:
    async def scenario(world: LoopHarness) -> None:
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

    run_scenario(scenario)


def test_a_restart_in_between_selects_nothing_else() -> None:
    async def scenario(world: LoopHarness) -> None:
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

    run_scenario(scenario)


def test_who_is_made_room_for_has_his_volume_made_when_there_is_room() -> None:
    async def scenario(world: LoopHarness) -> None:
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

    run_scenario(scenario)
