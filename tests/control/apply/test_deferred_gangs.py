"""Gangs whose pods are not all there: nothing starts in part, and no gang gives way for pods that may not come."""

from collections.abc import Callable

from tests.control.apply.test_seat_release import gpu_job, gpus, notes, with_victim
from tests.control.apply.test_seats import mpi
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import lose
from tests.objects.documents import Document, job, jobset_pod, node, owner, pod
from tests.scenarios.test_random_walks import RACK, jobset, torch
from understudy.control.loop import LoopSettings
from understudy.kinds.annotations import PREFIX
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import INCIDENTS, JOB_SETS, JOBS, MPI_JOBS_V1ALPHA1

PATIENCE = LoopSettings().patience.make
REMAKE = LoopSettings().patience.remake
ONE_BY_ONE = LoopSettings(binds_whole=False)
SLICES = "JobSet/default/slices"


def slices(priority: str, replicas: int = 3) -> Document:
    """Three slices of two nodes; JobSet makes followers when their leader has a seat."""
    document = jobset("slices", replicas, priority)
    document["metadata"]["annotations"] = {EXCLUSIVE: RACK}
    return document


async def racks(world: LoopHarness, *documents: Document) -> None:
    for rack in range(3):
        for number in range(2):
            labels = {RACK: f"r{rack}", "kubernetes.io/hostname": f"r{rack}-{number}"}
            world.cluster.put(node(f"r{rack}-{number}", {"labels": labels}, allocatable=gpus(8)))
    await with_victim(world, *documents, gpu_count=0)


def make_pod(world: LoopHarness, replica: int, index: int) -> None:
    parent = world.cluster.find(JOB_SETS, "slices")
    owners = [{**owner("JobSet", "slices")[0], "uid": parent["metadata"]["uid"]}]
    made = jobset_pod("slices", "job", replica, index, meta={"ownerReferences": owners})
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    (part,) = parent["spec"]["replicatedJobs"]
    made["spec"] = dict(part["template"]["spec"]["template"]["spec"])
    world.cluster.put(made)


def judged(world: LoopHarness, wrong: list[str]) -> Callable[[str], None]:
    """Before each bind, all members must have a seat or a held one."""

    def look(write: str) -> None:
        if write.startswith("bind slices"):
            binding = {part.strip().split(" ")[0] for part in write.removeprefix("bind").split(",")}
            held = notes(world, JOB_SETS, "slices").get("holds", "").count("=")
            seated = {name for name in world.seats() if name.startswith("slices")}
            if len(binding | seated) + held < 6:
                wrong.append(f"{write} with {held} seats held")

    return look


def test_a_gang_whose_followers_are_made_later_starts_when_all_leaders_are_there_and_all_seats_are_held() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world)
        world.hands.idle.add(SLICES)
        world.cluster.put(slices("high"))
        wrong: list[str] = []
        world.cluster.before_write = judged(world, wrong)
        for replica in range(3):
            await world.settle()
            assert world.seats() == {}
            make_pod(world, replica, 0)
        await world.settle()
        assert len(world.seats()) == 3
        assert notes(world, JOB_SETS, "slices")["holds"].count("=") == 3
        for replica in range(3):
            make_pod(world, replica, 1)
        await world.settle()
        assert len(world.seats()) == 6
        assert wrong == []

    run_scenario(scenario)


def test_no_gang_is_preempted_for_one_whose_first_stage_is_not_there() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world, *(torch(f"low-{n}", 2, "low") for n in range(3)))
        assert len(world.seats()) == 6
        world.hands.idle.add(SLICES)
        world.cluster.put(slices("high"))
        make_pod(world, 0, 0)
        await world.settle()
        await world.clock.let_pass(3600.0)
        await world.settle()
        assert {name.rpartition("-worker")[0] for name in world.seats()} == {"low-0", "low-1", "low-2"}
        assert not notes(world, JOB_SETS, "slices").get("holds")

    run_scenario(scenario)


def test_pods_that_are_seen_before_their_job_are_not_seated_one_by_one() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world)
        world.hands.idle.add(SLICES)
        world.cluster.hold_back(JOB_SETS)
        world.cluster.put(slices("high"))
        for replica in range(3):
            for index in range(2):
                make_pod(world, replica, index)
                await world.clock.let_pass(3.0)
                assert world.seats() == {}
        world.cluster.let_through(JOB_SETS)
        await world.settle()
        assert len(world.seats()) == 6

    run_scenario(scenario)


def test_a_gang_whose_next_stage_does_not_come_gives_everything_back_and_pauses() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world)
        world.hands.idle.add(SLICES)
        world.cluster.put(slices("high"))
        for replica in range(3):
            make_pod(world, replica, 0)
        await world.settle()
        assert len(world.seats()) == 3
        await world.clock.let_pass(PATIENCE - 5.0)
        assert len(world.seats()) == 3
        await world.clock.let_pass(10.0)
        found = world.cluster.find(JOB_SETS, "slices")
        assert found["spec"]["suspend"] is True
        assert "holds" not in notes(world, JOB_SETS, "slices")
        assert "stalled-at" in notes(world, JOB_SETS, "slices")
        assert "displaced-at" not in notes(world, JOB_SETS, "slices")
        assert any("has not made 3 of its 6 pods" in words for _, words in world.events("slices"))

    run_scenario(scenario)


def test_a_stage_that_comes_only_in_part_is_given_back() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world)
        world.hands.idle.add(SLICES)
        world.cluster.put(slices("high"))
        for replica, index in ((0, 0), (1, 0), (2, 0), (1, 1)):
            make_pod(world, replica, index)
        await world.settle()
        assert len(world.seats()) == 4
        await world.clock.let_pass(PATIENCE + 5.0)
        assert world.cluster.find(JOB_SETS, "slices")["spec"]["suspend"] is True
        assert any("has not made 2 of its 6 pods" in words for _, words in world.events("slices"))

    run_scenario(scenario)


def test_a_pod_that_is_not_made_again_costs_the_gang_its_seats_in_the_end() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("b", allocatable=gpus(8)))
        world.cluster.put(node("c", allocatable=gpus(8)))
        await with_victim(world, torch("pair", 2, "middle"))
        world.hands.idle.add("PyTorchJob/default/pair")
        world.cluster.take_away(world.pod("pair-worker-1"))
        await world.settle()
        await world.clock.let_pass(REMAKE - 5.0)
        assert list(world.seats()) == ["pair-worker-0"]
        await world.clock.let_pass(10.0)
        assert world.cluster.find(PYTORCH_JOBS, "pair")["spec"]["runPolicy"] == {"suspend": True}

    run_scenario(scenario)


def test_a_stage_that_waits_for_readiness_is_waited_for() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        world.cluster.put(mpi("late", 2))
        await world.clock.let_pass(0.5)
        world.hands.act()  # the workers are made
        await world.clock.let_pass(0.5)
        assert len(world.seats()) == 2
        for name in world.seats():
            world.pod(name)["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
            world.cluster.change(world.pod(name))
        await world.clock.let_pass(10 * PATIENCE)
        assert len(world.seats()) == 2
        assert notes(world, MPI_JOBS_V1ALPHA1, "late")["holds"] == "late-launcher=a"
        for name in world.seats():
            world.pod(name)["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            world.cluster.change(world.pod(name))
        await world.clock.let_pass(2 * PATIENCE)
        assert world.seats() == {}  # it cannot be paused: its pods are told to go
        assert "stalled-at" in notes(world, MPI_JOBS_V1ALPHA1, "late")

    run_scenario(scenario)


def test_a_more_important_gang_takes_a_begun_gang_whole_and_never_only_what_is_held_for_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world)
        world.hands.idle.add(SLICES)
        world.cluster.put(slices("middle"))
        for replica in range(3):
            make_pod(world, replica, 0)
        await world.settle()
        assert len(world.seats()) == 3
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        found = world.cluster.find(JOB_SETS, "slices")
        assert found["spec"]["suspend"] is True
        assert "Preempted" in [reason for reason, _ in world.events("slices")]

    run_scenario(scenario)


def test_a_paused_gang_goes_on_before_others_are_preempted_for_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("b", allocatable=gpus(8)))
        await with_victim(world, torch("middle", 2, "middle"))
        world.cluster.put(gpu_job("hero", "high"))
        world.cluster.put(torch("low", 1, "low"))
        await world.settle()
        middle = world.cluster.find(PYTORCH_JOBS, "middle")
        assert middle["spec"]["runPolicy"] == {"suspend": True}
        assert "low-worker-0" in world.seats()
        world.hands.idle.add("PyTorchJob/default/middle")
        world.cluster.take_away(world.cluster.find(JOBS, "hero"))
        await world.settle()
        assert middle["spec"]["runPolicy"] == {"suspend": False}
        assert list(world.seats()) == ["low-worker-0"]
        await world.clock.let_pass(2 * PATIENCE)
        assert list(world.seats()) == ["low-worker-0"]
        world.hands.idle.clear()
        await world.settle()
        assert sorted(world.seats()) == ["middle-worker-0", "middle-worker-1"]

    run_scenario(scenario)


def test_a_replacement_does_not_start_beside_a_member_that_has_failed_meanwhile() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        for name in ("one", "two"):
            world.cluster.put(node(name, allocatable=gpus(8)))
        world.cluster.put(torch("pair", 2, "high", gpus=8))
        await world.settle()
        first, second = world.pod("pair-worker-0"), world.pod("pair-worker-1")
        world.cluster.put(node("three", allocatable=gpus(8)))
        beside: list[bool] = []

        def fail_the_first(write: str) -> None:
            if write.startswith("bind pair-worker-1 ") and not beside:
                beside.append(True)
                first["status"]["phase"] = "Failed"
                world.cluster.change(first)

        world.cluster.before_write = fail_the_first
        lose(world, second["spec"]["nodeName"])
        await world.settle()
        assert beside
        assert "pair-worker-1" not in world.seats()

    run_scenario(scenario)


def test_where_pods_are_bound_one_by_one_all_seats_are_held_first() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        seen: list[str] = []

        def look(write: str) -> None:
            if write.startswith("bind"):
                seen.append(notes(world, PYTORCH_JOBS, "pair").get("holds", ""))

        world.cluster.before_write = look
        world.cluster.put(torch("pair", 2, "low", gpus=4))
        await world.settle()
        assert seen == ["pair-worker-0=a,pair-worker-1=a"]
        assert set(notes(world, PYTORCH_JOBS, "pair")) == {"last-seats"}

    run_scenario(scenario, ONE_BY_ONE)


def test_pods_whose_job_is_seen_late_are_not_taken_for_the_gang() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        world.cluster.hold_back(JOBS)
        world.hands.idle.add("Job/default/j")
        made = world.cluster.put(job("j", parallelism=2, completions=2, completionMode="Indexed"))
        owners = [{**owner("Job", "j")[0], "uid": made["metadata"]["uid"]}]

        def put(index: int) -> None:
            labels = {"job-name": "j", "batch.kubernetes.io/job-completion-index": str(index)}
            world.cluster.put(pod(f"j-{index}-x", "", {"labels": labels, "ownerReferences": owners}))

        put(0)
        await world.clock.let_pass(60.0)
        assert world.seats() == {}
        world.cluster.let_through(JOBS)
        put(1)
        await world.settle()
        assert len(world.seats()) == 2

    run_scenario(scenario)


def test_a_gang_whose_claim_does_not_exist_waits_and_the_first_claim_disturbs_no_other() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("plain", 1, "low", gpus=4))
        claiming = torch("claiming", 1, "low", gpus=4)
        template = claiming["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
        template["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
        world.cluster.put(claiming)
        await world.settle()
        assert list(world.seats()) == ["plain-worker-0"]
        assert (
            "PersistentVolumeClaim default/data does not exist"
            in world.condition("claiming-worker-0", "PodScheduled")["message"]
        )
        world.cluster.put(claim("other"))
        await world.settle()
        assert list(world.seats()) == ["plain-worker-0"]
        world.cluster.put(claim("data"))
        await world.settle()
        assert sorted(world.seats()) == ["claiming-worker-0", "plain-worker-0"]

    def claim(name: str) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {"volumeName": "pv"},
        }

    def volume() -> Document:
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {}}

    async def told(world: LoopHarness) -> None:
        world.cluster.put(volume())
        await scenario(world)

    run_scenario(told)


def test_holds_of_a_gang_whose_pods_never_come_are_given_back_for_good() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world)
        world.hands.idle.add("PyTorchJob/default/late")
        late = torch("late", 1, "middle")
        late["metadata"]["annotations"] = {f"{PREFIX}holds": "late-worker-0=a"}
        world.cluster.put(late)
        await world.settle()
        world.clock.jump(1.0)
        world.cluster.put(torch("small", 1, "low"))
        await world.clock.let_pass(PATIENCE / 2)
        assert world.seats() == {}
        await world.clock.let_pass(PATIENCE)
        await world.settle()
        assert list(world.seats()) == ["small-worker-0"]
        assert "holds" not in notes(world, PYTORCH_JOBS, "late")

    run_scenario(scenario)


def test_the_pods_of_a_deleted_job_keep_their_exclusive_domain_until_they_have_left() -> None:
    async def scenario(world: LoopHarness) -> None:
        await racks(world, torch("owner", 1, "low", exclusive_topology=RACK))
        (seat,) = world.seats().values()
        world.hands.clinging.add("PyTorchJob/default/owner")
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "owner"))
        await world.restart()  # what the loop knew of the job is gone as well
        world.cluster.put(torch("next", 5, "low"))
        await world.settle()
        taken = [node for name, node in world.seats().items() if name.startswith("next")]
        assert not [node for node in taken if node.rpartition("-")[0] == seat.rpartition("-")[0]]

    run_scenario(scenario)


def test_an_elastic_gang_goes_on_without_a_pod_that_is_not_made_again() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("b", "c"):
            world.cluster.put(node(name, allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        await with_victim(world, torch("wide", 2, "low", min_members="1"))
        world.hands.idle.add("PyTorchJob/default/wide")
        lose(world, world.seats()["wide-worker-1"])
        await world.settle()
        assert "holds" in notes(world, PYTORCH_JOBS, "wide")
        await world.clock.let_pass(2 * REMAKE)
        assert list(world.seats()) == ["wide-worker-0"]
        assert "holds" not in notes(world, PYTORCH_JOBS, "wide")
        assert world.cluster.find(PYTORCH_JOBS, "wide")["spec"].get("runPolicy", {}) == {}
        (kept,) = world.cluster.all(INCIDENTS)
        assert kept["status"]["outcome"] == "shrunk"

    run_scenario(scenario)
