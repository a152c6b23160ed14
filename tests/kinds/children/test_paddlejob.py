"""PaddleJob: what its processes are told, and when it has succeeded."""

from typing import Any

import pytest

from tests.kinds.children.training.documents import Training, role, variables

ADDRESS = {"fieldRef": {"fieldPath": "status.podIP"}}
SHARED = {"PYTHONUNBUFFERED": "1", "PADDLE_JOB_ID": "train"}


@pytest.mark.parametrize(
    ("roles", "pod", "expected"),
    [
        (
            {"Worker": 2},
            "train-worker-0",
            {"PADDLE_NNODES": "2", "POD_IP_DUMMY": ADDRESS, "PADDLE_MASTER": "$(POD_IP_DUMMY):36543"},
        ),
        ({"Worker": 2}, "train-worker-1", {"PADDLE_NNODES": "2", "PADDLE_MASTER": "train-worker-0:36543"}),
        (
            {"Master": 1, "Worker": 2},
            "train-master-0",
            {
                "PADDLE_NNODES": "3",
                "POD_IP_DUMMY": ADDRESS,
                "PADDLE_MASTER": "$(POD_IP_DUMMY):36543",
                "PADDLE_SERVER_NUM": "1",
            },
        ),
        (
            {"Master": 1, "Worker": 2},
            "train-worker-0",
            {"PADDLE_NNODES": "3", "PADDLE_MASTER": "train-master-0:36543", "PADDLE_TRAINER_NUM": "1"},
        ),
    ],
)
def test_every_pod_gets_the_address_of_the_rendezvous(
    roles: dict[str, int], pod: str, expected: dict[str, Any]
) -> None:
    told = variables("PaddleJob", {name: role(count) for name, count in roles.items()}, pod)
    assert told == SHARED | expected


def test_the_address_is_there_before_the_value_that_uses_it() -> None:
    told = list(variables("PaddleJob", {"Worker": role(2)}, "train-worker-0"))
    assert told.index("POD_IP_DUMMY") < told.index("PADDLE_MASTER")


@pytest.mark.parametrize(
    ("roles", "done", "succeeds"),
    [
        ({"Master": 1, "Worker": 2}, ["train-master-0"], True),
        ({"Worker": 2}, ["train-worker-0"], False),
        ({"Worker": 2}, ["train-worker-0", "train-worker-1"], True),
    ],
)
def test_who_has_to_succeed(roles: dict[str, int], done: list[str], succeeds: bool) -> None:
    world = Training("PaddleJob", {name: role(count) for name, count in roles.items()})
    world.run()
    for pod in done:
        world.finish(pod)
    world.look()
    assert ("Succeeded" in world.states()) is succeeds
