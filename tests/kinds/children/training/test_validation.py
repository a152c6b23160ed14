"""Training jobs that make no sense: what they are told."""

import pytest

from tests.kinds.children.training.documents import Training, role, training
from tests.kinds.children.world import World
from tests.objects.documents import Document


@pytest.mark.parametrize(
    ("kind", "roles", "words"),
    [
        ("PyTorchJob", {}, "spec.pytorchReplicaSpecs is empty"),
        ("PyTorchJob", {"Wroker": role()}, "spec.pytorchReplicaSpecs.Wroker is no role of a PyTorchJob: use Master or"),
        ("PyTorchJob", {"Worker": role(), "worker": role()}, "is given twice"),
        ("PyTorchJob", {"Master": role(2)}, "spec.pytorchReplicaSpecs.Master.replicas is 2"),
        ("XGBoostJob", {"Worker": role()}, "spec.xgbReplicaSpecs.Master is missing"),
        ("TFJob", {"Chief": role(), "Master": role()}, "has Chief and Master"),
        (
            "TFJob",
            {"Worker": role(container={"name": "main"})},
            "spec.tfReplicaSpecs.Worker.template.spec.containers: the one that trains must be named tensorflow",
        ),
    ],
)
def test_what_cannot_work_fails_at_once_and_says_why(kind: str, roles: dict[str, Document], words: str) -> None:
    world = Training(kind, roles)
    assert world.states() == ["Created", "Failed"]
    assert words in world.condition("Failed")["message"]
    assert not world.pods
    assert world.told() == [f"{kind}FailedValidation"]


def test_more_replicas_than_there_are_cannot_be_available() -> None:
    document = training("PyTorchJob", {"Master": role(), "Worker": role(2)})
    document["spec"]["runPolicy"] = {"schedulingPolicy": {"minAvailable": 4}}
    world = World(document)
    world.look()
    assert world.status["conditions"][-1]["message"].endswith(
        "spec.runPolicy.schedulingPolicy.minAvailable is 4, but the job has 3 replicas: use 3 or less"
    )
    document["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] = 3
    world = World(document)
    world.look()
    assert len(world.pods) == 3


@pytest.mark.parametrize(("name", "words"), [("x" * 60, "use 54 characters at most"), ("1st", "begin with a letter")])
def test_a_name_that_no_service_can_have_is_refused(name: str, words: str) -> None:
    document = training("JAXJob", {"Worker": role()})
    document["metadata"]["name"] = name
    world = World(document)
    world.look()
    assert words in world.status["conditions"][-1]["message"]
