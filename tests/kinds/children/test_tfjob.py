"""TFJob: what its processes are told, and when it has succeeded or failed."""

import json
from typing import Any

import pytest

from tests.kinds.children.training.documents import Training, role, variables


def config(roles: dict[str, Any], pod: str, **spec: Any) -> Any:
    return json.loads(variables("TFJob", roles, pod, **spec)["TF_CONFIG"])


def test_every_pod_gets_the_addresses_of_the_others() -> None:
    port = {"ports": [{"name": "tfjob-port", "containerPort": 3333}]}
    roles = {"Chief": role(), "PS": role(container=port), "Worker": role(2), "Evaluator": role()}
    assert config(roles, "train-worker-1") == {
        "cluster": {
            "chief": ["train-chief-0.default.svc:2222"],
            "ps": ["train-ps-0.default.svc:3333"],
            "worker": ["train-worker-0.default.svc:2222", "train-worker-1.default.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    assert config(roles, "train-evaluator-0")["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize(
    ("pod", "cluster"),
    [
        (
            "train-worker-1",
            {
                "worker": {"1": "train-worker-1.default.svc:2222"},
                "ps": ["train-ps-0.default.svc:2222", "train-ps-1.default.svc:2222"],
            },
        ),
        ("train-ps-1", {"worker": {}, "ps": ["train-ps-1.default.svc:2222"]}),
        ("train-chief-0", {"worker": {}, "ps": []}),
    ],
)
def test_where_workers_come_and_go_each_knows_only_itself_and_the_servers(pod: str, cluster: Any) -> None:
    roles = {"Chief": role(), "PS": role(2), "Worker": role(2)}
    told = config(roles, pod, enableDynamicWorker=True)
    assert told["cluster"] == cluster
    assert "environment" not in told


def test_a_replica_that_is_alone_is_told_nothing() -> None:
    assert variables("TFJob", {"Worker": role()}, "train-worker-0") == {}


def test_only_the_container_that_trains_is_told() -> None:
    worker = role(2)
    worker["template"]["spec"]["containers"].append({"name": "beside", "image": "any"})
    trains, beside = Training("TFJob", {"Worker": worker}).pods["train-worker-0"]["spec"]["containers"]
    assert [one["name"] for one in trains["env"]] == ["TF_CONFIG"]
    assert "env" not in beside


@pytest.mark.parametrize(
    ("roles", "policy", "done", "succeeds"),
    [
        ({"Chief": 1, "Worker": 2}, "", ["train-chief-0"], True),
        ({"Chief": 1, "Worker": 2}, "", ["train-worker-0", "train-worker-1"], False),
        ({"Master": 1, "PS": 1}, "", ["train-master-0"], True),
        ({"PS": 1, "Worker": 2}, "", ["train-worker-0"], True),
        ({"PS": 1, "Worker": 2}, "", ["train-worker-1"], False),
        ({"PS": 1, "Worker": 2}, "AllWorkers", ["train-worker-0"], False),
        ({"PS": 1, "Worker": 2}, "AllWorkers", ["train-worker-0", "train-worker-1"], True),
    ],
)
def test_who_has_to_succeed(roles: dict[str, int], policy: str, done: list[str], succeeds: bool) -> None:
    world = Training("TFJob", {name: role(count) for name, count in roles.items()}, successPolicy=policy)
    world.run()
    world.look()
    for pod in done:
        world.finish(pod)
    world.look()
    assert ("Succeeded" in world.states()) is succeeds


@pytest.mark.parametrize(
    ("spec", "restart", "pod", "state"),
    [
        ({}, "Never", "train-worker-1", "Failed"),
        ({}, "Never", "train-ps-0", "Failed"),
        ({}, "ExitCode", "train-worker-1", "Running"),
        ({"enableDynamicWorker": True}, "Never", "train-worker-1", "Running"),
        ({"enableDynamicWorker": True}, "Never", "train-ps-0", "Failed"),
    ],
)
def test_any_failure_is_the_end_unless_the_pod_comes_again(
    spec: dict[str, Any], restart: str, pod: str, state: str
) -> None:
    world = Training("TFJob", {"PS": role(1, restart), "Worker": role(3, restart)}, **spec)
    world.run()
    world.look()
    world.finish(pod, 137)
    world.look()
    assert world.states()[-1] == state
    if state == "Failed":
        which = "PS" if "ps" in pod else "Worker"
        words = f"TFJob default/train has failed because 1 {which} replica(s) failed."
        assert world.condition("Failed")["message"] == words


def test_a_server_that_fails_while_a_worker_comes_again_is_the_end_all_the_same() -> None:
    world = Training("TFJob", {"PS": role(1, "Never"), "Worker": role(2, "ExitCode")})
    world.run()
    world.look()
    world.finish("train-worker-0", 137)
    world.carry_out(world.wanted())
    assert world.states()[-1] == "Restarting"
    world.finish("train-ps-0", 1)
    world.look()
    assert world.states()[-1] == "Failed"
