"""Seats for gangs whose pods do not come all at once, for elastic ones, and for those that come back."""

from tests.control.living import Living, live
from tests.control.test_releasing import gpu_job, gpus, notes, with_victim
from tests.objects.documents import Document, job, node, pod_spec
from tests.scenarios.test_random_walks import jobset, torch
from understudy.kinds.annotations import PREFIX
from understudy.objects.resources import JOB_SETS, JOBS, MPI_JOBS_V1ALPHA1, PYTORCH_JOBS


def mpi(name: str, workers: int) -> Document:
    template = {"spec": {**pod_spec({"nvidia.com/gpu": "4"}), "priorityClassName": "middle"}}
    spec = {"replicas": workers, "template": template}
    return {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": name}, "spec": spec}


def test_pods_that_are_made_when_others_run_have_their_seats_held_until_then() -> None:
    async def story(world: Living) -> None:
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

    live(story)


def test_an_elastic_gang_starts_with_what_fits_and_grows_by_those_who_are_there() -> None:
    async def story(world: Living) -> None:
        await with_victim(world, torch("wide", 3, "low", gpus=4, min_members="1"))
        assert len(world.seats()) == 2
        world.cluster.put(node("b", allocatable=gpus(4)))
        await world.settle()
        assert len(world.seats()) == 3
        assert notes(world, PYTORCH_JOBS, "wide")["last-seats"].count("=") == 3

    live(story)


def test_a_jobset_that_is_restarted_goes_back_to_its_old_seats() -> None:
    async def story(world: Living) -> None:
        for name in ("b", "c", "d"):
            world.cluster.put(node(name, allocatable=gpus(8)))
        await with_victim(world, torch("first", 1, "middle"), jobset("slices", 1, "low"))
        before = sorted(world.seats().values())
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "first"))
        for pod in list(world.hands.pods_of("JobSet/default/slices")):
            world.cluster.take_away(pod)
        await world.settle()
        after = [node for name, node in world.seats().items() if name.startswith("slices")]
        assert sorted(after) == [node for node in before if node != "a"]
        assert notes(world, JOB_SETS, "slices")["last-seats"] == "slices-job-0-0=b,slices-job-0-1=c"

    live(story)


def test_pods_without_a_number_go_back_to_any_of_their_old_seats() -> None:
    async def story(world: Living) -> None:
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
        for pod in list(world.hands.pods_of("Job/default/sweep")):
            world.cluster.take_away(pod)
        await world.settle()
        assert sorted(world.seats().values()) == ["c", "d"]

    live(story)


def test_a_preempted_job_that_its_owner_suspends_stays_suspended_even_if_the_news_comes_late() -> None:
    async def story(world: Living) -> None:
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

    live(story)


def test_a_promised_seat_stays_promised_until_it_is_taken_though_others_of_the_gang_are_yet_to_be_made() -> None:
    async def story(world: Living) -> None:
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
    live(story)
