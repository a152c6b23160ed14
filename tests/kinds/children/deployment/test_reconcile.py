"""Rollouts: from one template to the next through ReplicaSets, and back."""

from typing import Any

import pytest

from tests.kinds.children.world import BEGIN, World, moment
from tests.objects.documents import Document, metadata, template
from understudy.kinds.children.deployment.spec import REVISION, TEMPLATE_HASH
from understudy.objects.resources import REPLICA_SETS

LABELS = {"app": "web"}


class Rollout(World):
    """A deployment whose ReplicaSets do as they are told, at once or when the test says so."""

    def __init__(self, replicas: int = 3, **spec: Any) -> None:
        given = {"selector": {"matchLabels": LABELS}, "template": template(labels=LABELS), "replicas": replicas, **spec}
        meta = metadata("web", generation=1)
        super().__init__({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": given})

    @property
    def sets(self) -> dict[str, Document]:
        return self.children[REPLICA_SETS.key]

    def settle(self, available: bool = True) -> None:
        """Every ReplicaSet has the pods it should have."""
        for one in self.sets.values():
            count = one["spec"]["replicas"]
            seen = {"replicas": count, "observedGeneration": one["metadata"].get("generation", 0)}
            one["status"] = {**seen, **({"readyReplicas": count, "availableReplicas": count} if available else {})}

    def sizes(self) -> list[int]:
        """Of the ReplicaSets, the first one first."""
        return [one["spec"]["replicas"] for one in self.sets.values()]

    def use(self, image: str) -> None:
        self.parent["metadata"]["generation"] += 1
        self.parent["spec"]["template"] = template(labels=LABELS)
        self.parent["spec"]["template"]["spec"]["containers"][0]["image"] = image

    def finish(self) -> list[list[int]]:
        """The sizes of all steps until nothing changes."""
        steps: list[list[int]] = []
        for _ in range(50):
            self.after(1)
            self.look()
            if steps and steps[-1] == self.sizes():
                return steps
            steps.append(self.sizes())
            self.settle()
        raise AssertionError("the rollout does not end")

    def condition(self, kind: str) -> tuple[str, str]:
        found = next(one for one in self.status["conditions"] if one["type"] == kind)
        return found["status"], found["reason"]

    def revisions(self) -> dict[str, str]:
        """The image of each revision."""
        return {
            one["metadata"]["annotations"][REVISION]: one["spec"]["template"]["spec"]["containers"][0]["image"]
            for one in self.sets.values()
        }


def test_a_new_deployment_makes_a_replica_set_that_has_a_hash_of_the_template() -> None:
    world = Rollout()
    world.finish()
    [(name, made)] = world.sets.items()
    hashed = made["metadata"]["labels"][TEMPLATE_HASH]
    assert name == f"web-{hashed}"
    assert made["spec"]["selector"]["matchLabels"] == {**LABELS, TEMPLATE_HASH: hashed}
    assert made["spec"]["template"]["metadata"]["labels"] == {**LABELS, TEMPLATE_HASH: hashed}
    assert world.parent["metadata"]["annotations"][REVISION] == "1"
    assert world.condition("Available") == ("True", "MinimumReplicasAvailable")
    assert world.condition("Progressing") == ("True", "NewReplicaSetAvailable")


@pytest.mark.parametrize("replicas", [1, 2, 3, 10])
@pytest.mark.parametrize(("surge", "missing"), [("25%", "25%"), (1, 0), (0, 1), ("100%", 0), (0, "0%")])
def test_a_rolling_update_keeps_to_its_limits_at_every_step(
    replicas: int, surge: int | str, missing: int | str
) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": missing}
    world = Rollout(replicas, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    world.finish()
    world.use("trainer:2")
    most = replicas + (-(-replicas * int(surge[:-1]) // 100) if isinstance(surge, str) else surge)
    down = replicas * int(missing[:-1]) // 100 if isinstance(missing, str) else missing
    least = replicas - (down or (0 if most > replicas else 1))
    for sizes in world.finish():
        assert least <= sum(sizes) <= most, sizes
    assert world.sizes() == [0, replicas]
    assert world.condition("Progressing") == ("True", "NewReplicaSetAvailable")


def test_an_update_whose_pods_do_not_become_ready_stops_and_is_late_at_its_deadline() -> None:
    world = Rollout(4, progressDeadlineSeconds=60)
    world.finish()
    world.use("broken:1")
    world.look()
    for _ in range(10):
        new = list(world.sets.values())[-1]
        world.settle()
        new["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
        world.after(1)
        world.look()
    assert world.sizes() == [3, 2]
    assert world.condition("Progressing") == ("True", "ReplicaSetUpdated")
    assert world.again_at is not None
    world.now = world.again_at
    world.look()
    assert world.condition("Progressing") == ("False", "ProgressDeadlineExceeded")
    assert world.condition("Available")[0] == "True"


def test_with_recreate_the_new_pods_wait_until_the_last_old_one_is_gone() -> None:
    world = Rollout(2, strategy={"type": "Recreate"})
    world.finish()
    world.use("trainer:2")
    world.look()
    assert world.sizes() == [0]
    [old] = world.sets.values()
    old["status"] = {"replicas": 0, "terminatingReplicas": 2}
    world.look()
    assert world.sizes() == [0]
    old["status"] = {"replicas": 0}
    world.look()
    assert world.sizes() == [0, 2]


def test_a_rollback_takes_the_old_replica_set_and_gives_it_a_new_revision() -> None:
    world = Rollout()
    world.finish()
    world.use("trainer:2")
    world.finish()
    assert world.revisions() == {"1": "trainer:1", "2": "trainer:2"}
    world.use("trainer:1")
    world.finish()
    assert world.revisions() == {"2": "trainer:2", "3": "trainer:1"}
    assert world.sizes() == [3, 0]
    assert world.parent["metadata"]["annotations"][REVISION] == "3"


def test_old_revisions_beyond_the_limit_are_forgotten() -> None:
    world = Rollout(revisionHistoryLimit=1)
    for number in range(1, 5):
        world.use(f"trainer:{number}")
        world.finish()
    assert world.revisions() == {"3": "trainer:3", "4": "trainer:4"}


def test_a_paused_deployment_makes_no_new_pods_of_a_new_template_but_is_scaled() -> None:
    world = Rollout()
    world.finish()
    world.parent["spec"]["paused"] = True
    world.use("trainer:2")
    world.finish()
    assert world.sizes() == [3]
    assert world.condition("Progressing") == ("Unknown", "DeploymentPaused")
    world.parent["spec"]["replicas"] = 5
    world.finish()
    assert world.sizes() == [5]
    del world.parent["spec"]["paused"]
    world.finish()
    assert world.sizes() == [0, 5]


def test_scaling_changes_the_present_replica_set_alone() -> None:
    world = Rollout()
    world.finish()
    world.parent["spec"]["replicas"] = 7
    world.finish()
    assert world.sizes() == [7]
    world.parent["spec"]["replicas"] = 0
    world.finish()
    assert world.sizes() == [0]


def test_annotations_such_as_the_cause_of_a_change_are_passed_on_to_the_revision() -> None:
    world = Rollout()
    world.parent["metadata"]["annotations"] = {
        "kubernetes.io/change-cause": "first",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    world.finish()
    [made] = world.sets.values()
    assert made["metadata"]["annotations"]["kubernetes.io/change-cause"] == "first"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in made["metadata"]["annotations"]


def test_deployments_of_one_name_do_not_share_replica_sets() -> None:
    names = set()
    for uid in ("one", "two"):
        world = Rollout()
        world.parent["metadata"]["uid"] = uid
        world.look()
        names |= set(world.sets)
    assert len(names) == 2


def test_a_deleted_deployment_does_nothing_more() -> None:
    world = Rollout()
    world.parent["metadata"]["deletionTimestamp"] = moment(BEGIN)
    world.look()
    assert world.sets == {}
