"""The pods and services of a training job, and the places they fill."""

import pytest

from tests.kinds.children.training.documents import KINDS, Training, role, torch, training
from tests.kinds.children.world import BEGIN, World, moment
from tests.kinds.gangs import gang, names
from understudy.kinds.decoding import decode
from understudy.kinds.ownership import owner_of
from understudy.objects.pods import Pod

PREFIX = "training.kubeflow.org/"


def test_every_replica_has_a_pod_and_a_service_of_its_name() -> None:
    world = Training("PyTorchJob", {"Master": role(), "Worker": role(2)})
    assert sorted(world.pods) == ["train-master-0", "train-worker-0", "train-worker-1"]
    assert sorted(world.services) == sorted(world.pods)
    first = world.services["train-worker-1"]["spec"]
    labels = {
        f"{PREFIX}operator-name": "pytorchjob-controller",
        f"{PREFIX}job-name": "train",
        f"{PREFIX}replica-type": "worker",
        f"{PREFIX}replica-index": "1",
    }
    ports = [{"name": "pytorchjob-port", "port": 23456, "protocol": "TCP"}]
    assert first == {"clusterIP": "None", "selector": labels, "ports": ports}
    assert world.pods["train-worker-1"]["metadata"]["labels"] == labels
    (owner,) = world.pods["train-worker-1"]["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["uid"], owner["controller"]) == (
        "kubeflow.org/v1",
        "PyTorchJob",
        "parent-uid",
        True,
    )


def test_a_pod_is_the_template_with_its_labels_and_the_policy_of_its_role() -> None:
    ports = [{"name": "metrics", "containerPort": 9000}]
    worker = role(1, "ExitCode", {"ports": ports, "env": [{"name": "LR", "value": "1"}]}, restartPolicy="Always")
    worker["template"]["metadata"] = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    world = Training("PyTorchJob", {"Worker": worker})
    made = world.pods["train-worker-0"]
    assert made["metadata"]["labels"]["app"] == "x"
    assert made["metadata"]["annotations"] == {"note": "y"}
    assert made["spec"]["restartPolicy"] == "Never"
    (container,) = made["spec"]["containers"]
    assert [port["name"] for port in container["ports"]] == ["metrics", "pytorchjob-port"]
    assert container["env"][0] == {"name": "LR", "value": "1"}
    assert [port["name"] for port in world.services["train-worker-0"]["spec"]["ports"]] == [
        "metrics",
        "pytorchjob-port",
    ]
    assert "SetPodTemplateRestartPolicy" in world.told()


@pytest.mark.parametrize(
    ("kind", "roles", "lead"),
    [
        ("PyTorchJob", ["Master", "Worker"], "train-master-0"),
        ("PyTorchJob", ["Worker"], "train-worker-0"),
        ("TFJob", ["PS", "Worker"], "train-worker-0"),
        ("TFJob", ["Chief", "Worker"], "train-chief-0"),
        ("XGBoostJob", ["Master", "Worker"], "train-master-0"),
        ("PaddleJob", ["Worker"], "train-worker-0"),
        ("JAXJob", ["Worker"], "train-worker-0"),
    ],
)
def test_one_pod_is_marked_as_the_one_to_look_at(kind: str, roles: list[str], lead: str) -> None:
    world = Training(kind, {name: role(2 if name == "Worker" else 1) for name in roles})
    marked = [name for name, pod in world.pods.items() if f"{PREFIX}job-role" in pod["metadata"]["labels"]]
    assert marked == [lead]


@pytest.mark.parametrize("kind", KINDS)
def test_pods_fill_the_places_their_gang_has_for_them(kind: str) -> None:
    roles = {"Worker": role(2)} if kind == "JAXJob" else {"Master": role(), "Worker": role(2)}
    world = Training(kind, roles)
    planned, seen = gang(world.parent), gang(world.parent, world.pods.values())
    assert sorted(names(planned)) == sorted(names(seen)) == sorted(world.pods)
    assert all(member.exists for member in seen.members())
    for made in world.pods.values():
        pod = decode(made)
        assert isinstance(pod, Pod)
        assert (owner_of(pod).key, owner_of(pod).slot) == (f"{kind}/default/train", made["metadata"]["name"])


def test_roles_may_be_written_in_any_case() -> None:
    world = Training("TFJob", {"worker": role(), "pS": role()})
    assert sorted(world.pods) == ["train-ps-0", "train-worker-0"]
    assert sorted(world.status["replicaStatuses"]) == ["PS", "Worker"]


def test_fewer_replicas_leave_no_pods_and_services_behind() -> None:
    world = torch(workers=3)
    world.parent["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 1
    world.look()
    world.leave()
    world.look()
    assert sorted(world.pods) == sorted(world.services) == ["train-master-0", "train-worker-0"]
    assert world.states() == ["Created", "Running"]


@pytest.mark.parametrize("owner", ["kueue.x-k8s.io/multikueue", "kubeflow.org/training-operator"])
def test_a_job_of_another_controller_is_left_alone(owner: str) -> None:
    world = Training("PyTorchJob", {"Worker": role()}, {"managedBy": owner})
    assert bool(world.pods) is bool(world.status) is (owner == "kubeflow.org/training-operator")


def test_a_job_that_is_being_deleted_makes_nothing() -> None:
    world = World(training("PyTorchJob", {"Worker": role()}))
    world.parent["metadata"]["deletionTimestamp"] = moment(BEGIN)
    world.look()
    assert not world.pods
