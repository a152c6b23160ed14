"""Workloads that run on: their defaults, what is refused, and what may change."""

from typing import Any

import pytest

from tests.embedded.schema.forms import Refusal, changed, container, created, draft_of, refusal_of, updated

LABELS = {"app": "web"}
KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")


def workload(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container()], **(pod or {})}}
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": LABELS}, "template": template, **spec}}


def test_a_deployment_gets_its_defaults() -> None:
    spec = created("Deployment", workload())["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    rolling = {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert spec["template"]["spec"]["restartPolicy"] == "Always"


def test_a_stateful_set_gets_its_defaults() -> None:
    spec = created("StatefulSet", workload())["spec"]
    assert (spec["podManagementPolicy"], spec["replicas"]) == ("OrderedReady", 1)
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_a_daemon_set_gets_its_defaults() -> None:
    strategy = created("DaemonSet", workload())["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def test_a_replica_set_without_labels_has_those_of_its_pods() -> None:
    assert created("ReplicaSet", workload())["metadata"]["labels"] == LABELS


@pytest.mark.parametrize("kind", KINDS)
def test_the_selector_must_match_the_template(kind: str) -> None:
    refusal = refusal_of(kind, workload(selector={"matchLabels": {"app": "other"}}))
    assert any("`selector` does not match template `labels`" in cause for cause in refusal.causes)
    assert refusal_of(kind, workload(selector={})).causes[0].startswith("spec.selector: ")


@pytest.mark.parametrize("kind", KINDS)
def test_pods_that_end_are_refused(kind: str) -> None:
    refusal = refusal_of(kind, workload({"restartPolicy": "Never"}))
    assert refusal.causes == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]
    assert "activeDeadlineSeconds" in refusal_of(kind, workload({"activeDeadlineSeconds": 5})).causes[0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "StatefulSet"])
def test_the_selector_stays(kind: str) -> None:
    old = draft_of(kind, workload())
    document = changed(old, "spec", "selector", to={"matchLabels": {"tier": "x"}})
    document["spec"]["template"]["metadata"]["labels"] = {"tier": "x"}
    with Refusal() as refusal:
        updated(kind, old, document)
    assert "field is immutable" in refusal.causes[0]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ({"rollingUpdate": {"maxSurge": "a lot"}}, "must be an integer or percentage"),
        ({"rollingUpdate": {"maxSurge": -1}}, "greater than or equal to 0"),
        ({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}, "may not be 0 when `maxSurge` is 0"),
        ({"type": "Recreate", "rollingUpdate": {}}, "may not be specified"),
    ],
)
def test_strategies_that_cannot_work_are_refused(strategy: dict[str, Any], words: str) -> None:
    assert words in refusal_of("Deployment", workload(strategy=strategy)).causes[0]


def test_a_deadline_within_the_ready_time_is_refused() -> None:
    refusal = refusal_of("Deployment", workload(progressDeadlineSeconds=10, minReadySeconds=10))
    assert "must be greater than minReadySeconds" in refusal.causes[0]


def test_a_surge_of_daemons_is_refused_in_words() -> None:
    rolling = {"rollingUpdate": {"maxSurge": 1}}
    assert "set maxUnavailable" in refusal_of("DaemonSet", workload(updateStrategy=rolling)).causes[0]


def test_containers_of_a_stateful_set_mount_its_claims() -> None:
    mount = [{"name": "data", "mountPath": "/data"}]
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    given = workload({"containers": [container(volumeMounts=mount)]}, volumeClaimTemplates=[claim])
    assert created("StatefulSet", given)["spec"]["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"
    assert "Not found" in refusal_of("StatefulSet", workload({"containers": [container(volumeMounts=mount)]})).causes[0]


def test_of_a_stateful_set_only_some_fields_may_change() -> None:
    old = draft_of("StatefulSet", workload(serviceName="db"))
    assert updated("StatefulSet", old, changed(old, "spec", "replicas", to=5))["spec"]["replicas"] == 5
    with Refusal() as refusal:
        updated("StatefulSet", old, changed(old, "spec", "serviceName", to="other"))
    assert "updates to statefulset spec for fields other than" in refusal.message
