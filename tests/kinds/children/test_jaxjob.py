"""JAXJob: what its processes are told, and when it has succeeded or failed."""

from tests.kinds.children.training.documents import Training, role, variables


def test_every_pod_gets_the_address_of_the_coordinator() -> None:
    assert variables("JAXJob", {"Worker": role(3)}, "train-worker-2") == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_ADDRESS": "train-worker-0",
        "COORDINATOR_PORT": "6666",
        "NUM_PROCESSES": "3",
        "PROCESS_ID": "2",
    }


def test_all_workers_have_to_succeed() -> None:
    world = Training("JAXJob", {"Worker": role(2)})
    world.run()
    world.finish("train-worker-0")
    world.look()
    assert world.states()[-1] == "Running"
    world.finish("train-worker-1")
    world.look()
    assert world.states()[-1] == "Succeeded"


def test_its_pods_are_not_started_again_unless_asked_for() -> None:
    world = Training("JAXJob", {"Worker": role(2)})
    assert world.pods["train-worker-0"]["spec"]["restartPolicy"] == "Never"
    world.run()
    world.finish("train-worker-0", 1)
    world.look()
    assert world.states()[-1] == "Failed"
