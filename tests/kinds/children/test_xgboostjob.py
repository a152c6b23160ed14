"""XGBoostJob: what its processes are told, and what a failure means."""

import pytest

from tests.kinds.children.training.documents import Training, role, variables


@pytest.mark.parametrize(("pod", "rank"), [("train-master-0", "0"), ("train-worker-0", "1"), ("train-worker-1", "2")])
def test_every_pod_gets_the_addresses_of_the_master_and_the_workers(pod: str, rank: str) -> None:
    assert variables("XGBoostJob", {"Master": role(), "Worker": role(2)}, pod) == {
        "MASTER_ADDR": "train-master-0",
        "MASTER_PORT": "9999",
        "WORLD_SIZE": "3",
        "RANK": rank,
        "PYTHONUNBUFFERED": "1",
        "WORKER_PORT": "9999",
        "WORKER_ADDRS": "train-worker-0,train-worker-1",
    }


def test_a_master_that_is_alone_has_no_workers() -> None:
    assert "WORKER_ADDRS" not in variables("XGBoostJob", {"Master": role()}, "train-master-0")


@pytest.mark.parametrize(
    ("restart", "code", "state"),
    [("Never", 1, "Failed"), ("OnFailure", 1, "Failed"), ("ExitCode", 137, "Running"), ("ExitCode", 1, "Failed")],
)
def test_any_failure_is_the_end_unless_exit_codes_are_looked_at(restart: str, code: int, state: str) -> None:
    world = Training("XGBoostJob", {"Master": role(), "Worker": role(2, restart)})
    world.run()
    world.look()
    world.finish("train-worker-0", code)
    world.look()
    assert world.states()[-1] == state


def test_it_has_succeeded_with_its_master() -> None:
    world = Training("XGBoostJob", {"Master": role(), "Worker": role()})
    world.run()
    world.finish("train-worker-0")
    world.look()
    assert world.states()[-1] == "Running"
    world.finish("train-master-0")
    world.look()
    assert world.states()[-1] == "Succeeded"
