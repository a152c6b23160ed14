"""PyTorchJob: what its processes are told, and when it has succeeded."""

from typing import Any

import pytest

from tests.kinds.children.training.documents import Training, role, variables

PORT = {"name": "pytorchjob-port", "containerPort": 29500}


def test_ranks_are_told_where_the_master_is() -> None:
    told = variables("PyTorchJob", {"Master": role(), "Worker": role(2)}, "train-worker-1")
    assert told == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "train-master-0",
        "MASTER_PORT": "23456",
        "PET_MASTER_ADDR": "train-master-0",
        "PET_MASTER_PORT": "23456",
        "WORLD_SIZE": "3",
        "RANK": "2",
        "PET_NODE_RANK": "2",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "3",
    }


@pytest.mark.parametrize(
    ("spec", "pod", "expected"),
    [
        ({}, "train-master-0", {"RANK": "0", "MASTER_ADDR": "train-master-0"}),
        ({"nprocPerNode": "4"}, "train-worker-0", {"WORLD_SIZE": "8", "RANK": "1", "PET_NPROC_PER_NODE": "4"}),
        ({"nprocPerNode": "gpu"}, "train-worker-0", {"WORLD_SIZE": "2", "PET_NPROC_PER_NODE": "gpu"}),
    ],
)
def test_the_world_is_as_large_as_all_processes(spec: dict[str, Any], pod: str, expected: dict[str, str]) -> None:
    assert variables("PyTorchJob", {"Master": role(), "Worker": role()}, pod, **spec).items() >= expected.items()


def test_the_port_of_the_master_holds_for_all() -> None:
    told = variables("PyTorchJob", {"Master": role(container={"ports": [PORT]}), "Worker": role()}, "train-worker-0")
    assert told["MASTER_PORT"] == "29500"


def test_every_container_is_told_and_what_it_says_itself_gives_way() -> None:
    worker = role(container={"env": [{"name": "RANK", "value": "77"}]})
    worker["template"]["spec"]["containers"].append({"name": "beside", "image": "any"})
    pod = Training("PyTorchJob", {"Master": role(), "Worker": worker}).pods["train-worker-0"]
    for container in pod["spec"]["containers"]:
        assert [one["value"] for one in container["env"] if one["name"] == "RANK"] == ["1"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, {"PET_RDZV_ENDPOINT": "train-worker-0:23456", "PET_RDZV_BACKEND": "c10d", "PET_NNODES": "4"}),
        ({"minReplicas": 1, "maxReplicas": 4}, {"PET_NNODES": "1:4"}),
        ({"minReplicas": 2}, {"PET_NNODES": "2:4"}),
        ({"rdzvHost": "etcd", "rdzvPort": 2379, "rdzvBackend": "etcd"}, {"PET_RDZV_ENDPOINT": "etcd:2379"}),
        (
            {"maxRestarts": 3, "nProcPerNode": 2, "rdzvId": "it", "standalone": True},
            {"PET_MAX_RESTARTS": "3", "PET_NPROC_PER_NODE": "2", "PET_RDZV_ID": "it", "PET_STANDALONE": ""},
        ),
        ({"rdzvConf": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]}, {"PET_RDZV_CONF": "a=1,b=2"}),
    ],
)
def test_elastic_workers_are_told_where_to_meet(policy: dict[str, Any], expected: dict[str, str]) -> None:
    told = variables("PyTorchJob", {"Worker": role(4)}, "train-worker-3", elasticPolicy=policy)
    assert told.items() >= expected.items()
    assert "RANK" not in told


@pytest.mark.parametrize(
    ("spec", "roles", "done", "succeeds"),
    [
        ({}, {"Master": role(), "Worker": role(2)}, ["train-master-0"], True),
        ({}, {"Master": role(), "Worker": role(2)}, ["train-worker-0", "train-worker-1"], False),
        ({}, {"Worker": role(2)}, ["train-worker-0"], False),
        ({}, {"Worker": role(2)}, ["train-worker-0", "train-worker-1"], True),
        ({"elasticPolicy": {"minReplicas": 1}}, {"Worker": role(2)}, ["train-worker-1"], True),
    ],
)
def test_who_has_to_succeed(spec: dict[str, Any], roles: dict[str, Any], done: list[str], succeeds: bool) -> None:
    world = Training("PyTorchJob", roles, **spec)
    world.run()
    world.look()
    for pod in done:
        world.finish(pod)
    world.look()
    assert ("Succeeded" in world.states()) is succeeds
