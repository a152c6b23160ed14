"""Pods with numbers: made upwards, taken away and updated downwards, one at a time unless said otherwise."""

from typing import Any

from tests.kinds.children.world import World
from tests.objects.documents import Document, metadata, template
from understudy.kinds.children.revisions import REVISION_HASH
from understudy.objects.resources import CLAIMS, CONTROLLER_REVISIONS

LABELS = {"app": "db"}


def claim(name: str = "data") -> Document:
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]}}


class Stateful(World):
    def __init__(self, replicas: int = 3, **spec: Any) -> None:
        given = {
            "selector": {"matchLabels": LABELS},
            "template": template(labels=LABELS),
            "replicas": replicas,
            "serviceName": "db",
            **spec,
        }
        super().__init__(
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata("db", generation=1), "spec": given}
        )

    def use(self, image: str) -> None:
        self.parent["spec"]["template"] = template(labels=LABELS)
        self.parent["spec"]["template"]["spec"]["containers"][0]["image"] = image

    def images(self) -> dict[str, str]:
        return {name: pod["spec"]["containers"][0]["image"] for name, pod in sorted(self.pods.items())}

    def finish(self) -> list[list[str]]:
        """The live pods at every step until nothing changes; pods become ready and leave between the steps."""
        steps: list[list[str]] = []
        before: list[str] = []
        for _ in range(50):
            self.look()
            now = [pod["metadata"]["uid"] for _, pod in sorted(self.pods.items())]
            if now == before and len(self.live()) == len(now):
                return steps
            before = now
            steps.append(sorted(self.live()))
            self.leave()
            self.run()
        raise AssertionError("it does not come to rest")


def test_pods_are_made_one_after_the_other_each_once_the_one_before_is_ready() -> None:
    world = Stateful()
    world.look()
    assert sorted(world.pods) == ["db-0"]
    world.look()
    assert sorted(world.pods) == ["db-0"]
    world.run()
    world.look()
    assert sorted(world.pods) == ["db-0", "db-1"]
    world.finish()
    assert sorted(world.pods) == ["db-0", "db-1", "db-2"]
    assert (world.status["readyReplicas"], world.status["currentReplicas"]) == (3, 3)


def test_a_pod_has_its_number_its_host_name_and_its_revision() -> None:
    world = Stateful(1)
    world.finish()
    pod = world.pods["db-0"]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
    labels = pod["metadata"]["labels"]
    assert labels["apps.kubernetes.io/pod-index"] == "0"
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert labels[REVISION_HASH] == world.status["updateRevision"] == world.status["currentRevision"]


def test_parallel_sets_make_and_take_away_all_pods_at_once() -> None:
    world = Stateful(podManagementPolicy="Parallel", ordinals={"start": 5})
    world.look()
    assert sorted(world.pods) == ["db-5", "db-6", "db-7"]
    world.parent["spec"]["replicas"] = 0
    world.look()
    assert world.live() == []


def test_the_highest_number_goes_first() -> None:
    world = Stateful()
    world.finish()
    world.parent["spec"]["replicas"] = 1
    assert world.finish()[:2] == [["db-0", "db-1"], ["db-0"]]


def test_each_pod_has_claims_of_its_own_that_outlive_it() -> None:
    world = Stateful(2, volumeClaimTemplates=[claim("data"), claim("logs")])
    world.finish()
    claims = world.children[CLAIMS.key]
    assert sorted(claims) == ["data-db-0", "data-db-1", "logs-db-0", "logs-db-1"]
    assert "ownerReferences" not in claims["data-db-0"]["metadata"]
    volumes = {volume["name"]: volume["persistentVolumeClaim"] for volume in world.pods["db-1"]["spec"]["volumes"]}
    assert volumes == {"data": {"claimName": "data-db-1"}, "logs": {"claimName": "logs-db-1"}}
    world.delete("db-1")
    world.finish()
    assert sorted(world.live()) == ["db-0", "db-1"]
    assert len(claims) == 4


def test_claims_go_with_the_set_and_with_its_size_where_that_is_asked_for() -> None:
    retention = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    world = Stateful(2, volumeClaimTemplates=[claim()], persistentVolumeClaimRetentionPolicy=retention)
    world.finish()
    assert world.children[CLAIMS.key]["data-db-0"]["metadata"]["ownerReferences"][0]["name"] == "db"
    world.parent["spec"]["replicas"] = 1
    world.finish()
    assert sorted(world.children[CLAIMS.key]) == ["data-db-0"]


def test_an_update_replaces_one_pod_at_a_time_from_the_highest_number_down() -> None:
    world = Stateful()
    world.finish()
    world.use("db:2")
    steps = world.finish()
    assert all(len(live) >= 2 for live in steps)
    assert steps[0] == ["db-0", "db-1"]
    assert set(world.images().values()) == {"db:2"}
    assert world.status["currentRevision"] == world.status["updateRevision"]


def test_an_update_stops_at_a_pod_that_does_not_become_ready() -> None:
    world = Stateful()
    world.finish()
    world.use("broken:1")
    world.look()
    world.leave()
    world.look()
    world.look()
    assert world.images() == {"db-0": "trainer:1", "db-1": "trainer:1", "db-2": "broken:1"}


def test_pods_below_the_partition_keep_their_revision_also_when_they_are_made_again() -> None:
    world = Stateful(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    world.finish()
    world.use("db:2")
    world.finish()
    assert world.images() == {"db-0": "trainer:1", "db-1": "trainer:1", "db-2": "db:2"}
    world.delete("db-0")
    world.finish()
    assert world.images()["db-0"] == "trainer:1"
    assert world.status["currentRevision"] != world.status["updateRevision"]


def test_with_on_delete_only_deleted_pods_come_back_new() -> None:
    world = Stateful(2, updateStrategy={"type": "OnDelete"})
    world.finish()
    world.use("db:2")
    world.finish()
    assert set(world.images().values()) == {"trainer:1"}
    world.delete("db-0")
    world.finish()
    assert world.images() == {"db-0": "db:2", "db-1": "trainer:1"}


def test_a_failed_pod_is_made_again_under_its_name() -> None:
    world = Stateful(1)
    world.finish()
    first = world.pods["db-0"]["metadata"]["uid"]
    world.end("db-0", 1)
    world.finish()
    assert world.live() == ["db-0"]
    assert world.pods["db-0"]["metadata"]["uid"] != first


def test_a_template_that_comes_back_takes_its_old_revision_again() -> None:
    world = Stateful(1, revisionHistoryLimit=1)
    names = []
    for image in ("db:1", "db:2", "db:3", "db:2"):
        world.use(image)
        world.finish()
        names.append(world.status["updateRevision"])
    assert names[1] == names[3]
    revisions = world.children[CONTROLLER_REVISIONS.key]
    assert {name: revisions[name]["revision"] for name in revisions} == {names[2]: 3, names[1]: 4}
