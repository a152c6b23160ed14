"""Controllers that read objects they do not own: a change of these triggers a reconciliation."""

from tests.embedded.controllers.controller_runner import job_kind_controller, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster
from tests.kinds.children.trainjob.documents import runtime, train_job
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, EVENTS, JOB_SETS, TRAIN_JOBS, TRAINING_RUNTIMES

TRAIN_JOB = job_kind_controller("TrainJob")


def test_a_runtime_that_is_there_first_is_used() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(CLUSTER_TRAINING_RUNTIMES, runtime())
        api.put(TRAIN_JOBS, train_job())
        async with running_controllers(api, TRAIN_JOB):
            await api.clock.advance(1)
            assert api.names(JOB_SETS) == ["train"]

    run_scenario(scenario)


def test_a_runtime_that_comes_later_lets_the_job_begin() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, TRAIN_JOB):
            api.put(TRAIN_JOBS, train_job(ref={"kind": "TrainingRuntime"}))
            await api.clock.advance(1)
            assert api.names(JOB_SETS) == []
            assert {event["reason"] for event in api.all(EVENTS)} == {"TrainJobResourcesCreationFailed"}
            api.put(CLUSTER_TRAINING_RUNTIMES, runtime())
            await api.clock.advance(1)
            assert api.names(JOB_SETS) == []  # another kind of runtime by the same name
            api.put(TRAINING_RUNTIMES, runtime(kind="TrainingRuntime"))
            await api.clock.advance(1)
            assert api.names(JOB_SETS) == ["train"]

    run_scenario(scenario)


def test_a_runtime_that_is_gone_is_not_used_any_more() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(CLUSTER_TRAINING_RUNTIMES, runtime())
        async with running_controllers(api, TRAIN_JOB):
            api.remove(CLUSTER_TRAINING_RUNTIMES, "basic")
            await api.clock.advance(1)
            api.put(TRAIN_JOBS, train_job())
            await api.clock.advance(1)
            assert api.names(JOB_SETS) == []

    run_scenario(scenario)
