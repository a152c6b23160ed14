"""What a pod gets from the cluster, what is refused, and what may change once it is there."""

from typing import Any

import pytest

from tests.embedded.schema.forms import (
    Refusal,
    changed,
    classes,
    container,
    created,
    draft_of,
    pod,
    refusal_of,
    updated,
)
from understudy.embedded.schema.served_resource import Draft


def test_a_new_pod_is_pending_and_belongs_to_the_default_account() -> None:
    made = created("Pod", {**pod(), "status": {"phase": "Running"}})
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"]["serviceAccountName"] == "default"
    assert made["spec"]["enableServiceLinks"] is True
    assert made["metadata"]["generation"] == 1


def test_priority_follows_from_the_class() -> None:
    spec = created("Pod", pod(priorityClassName="high"), classes(high=1000))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "PreemptLowerPriority")


def test_system_classes_are_known_without_being_there() -> None:
    assert created("Pod", pod(priorityClassName="system-node-critical"))["spec"]["priority"] == 2_000_001_000


def test_the_global_default_class_is_for_pods_that_name_none() -> None:
    spec = created("Pod", pod(), classes(default=7))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (7, "default")


def test_without_any_class_the_priority_is_zero() -> None:
    spec = created("Pod", pod())["spec"]
    assert spec["priority"] == 0
    assert "priorityClassName" not in spec


def test_an_unknown_class_is_forbidden() -> None:
    said = refusal_of("Pod", pod(priorityClassName="nope"))
    expected = 'pods "trainer" is forbidden: no PriorityClass with name nope was found'
    assert (said.code, said.message) == (403, expected)


def test_a_priority_out_of_thin_air_is_forbidden() -> None:
    said = refusal_of("Pod", pod(priority=5))
    assert said.code == 403
    assert "priority (5) must not be provided in pod spec" in said.message


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("host:5000/a", "Always"),
        ("host:5000/a:2", "IfNotPresent"),
        ("a@sha256:abc", "IfNotPresent"),
    ],
)
def test_when_images_are_pulled_follows_from_their_tag(image: str, policy: str) -> None:
    made = created("Pod", pod(containers=[container(image=image)]))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_requests_default_to_limits() -> None:
    resources = {"limits": {"cpu": "2", "nvidia.com/gpu": 1}, "requests": {"cpu": "1"}}
    made = created("Pod", pod(containers=[container(resources=resources)]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"limits": {"cpu": 1, "memory": "1Gi"}}, "Guaranteed"),
        ({"requests": {"cpu": 1}}, "Burstable"),
        ({"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_the_amounts(resources: dict[str, Any], expected: str) -> None:
    made = created("Pod", pod(containers=[container(resources=resources)]))
    assert made["status"]["qosClass"] == expected


def test_on_the_network_of_the_node_ports_are_ports_of_the_node() -> None:
    made = created("Pod", pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]))
    assert made["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


def test_a_volume_without_a_source_is_an_empty_folder() -> None:
    assert created("Pod", pod(volumes=[{"name": "a"}]))["spec"]["volumes"] == [{"name": "a", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("nfs", {"server": "files", "path": "/"}),
        ("csi", {"driver": "a.b", "readOnly": None}),
        ("awsElasticBlockStore", {"volumeID": "1"}),
        ("image", {"reference": "a"}),
    ],
)
def test_a_volume_of_a_type_that_is_not_mounted_is_refused(kind: str, source: dict[str, Any]) -> None:
    (said,) = refusal_of("Pod", pod(volumes=[{"name": "data", kind: source}])).causes
    assert said.startswith(f"spec.volumes[0].{kind}: Forbidden: volumes of this type are not mounted on this cluster")
    assert "emptyDir, ephemeral, hostPath, persistentVolumeClaim" in said


WRONG: list[tuple[dict[str, Any], str]] = [
    (pod(containers=[]), "spec.containers: Required value"),
    (pod(containers=[{"name": "a"}]), "spec.containers[0].image: Required value"),
    (pod(containers=[container(), container()]), 'spec.containers[1].name: Duplicate value: "main"'),
    (
        pod(initContainers=[container(name="main")]),
        'spec.initContainers[0].name: Duplicate value: "main"',
    ),
    (
        pod(containers=[container(resources={"limits": {"cpu": 1}, "requests": {"cpu": 2}})]),
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        pod(containers=[container(resources={"limits": {"nvidia.com/gpu": "500m"}})]),
        'spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
    ),
    (
        pod(containers=[container(resources={"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}})]),
        'spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    ),
    (
        pod(containers=[container(resources={"requests": {"nvidia.com/gpu": 1}})]),
        "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    (
        pod(containers=[container(resources={"limits": {"cpu": "-1"}})]),
        'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    (
        pod(containers=[container(volumeMounts=[{"name": "data", "mountPath": "/d"}])]),
        'spec.containers[0].volumeMounts[0].name: Not found: "data"',
    ),
    (
        pod(
            volumes=[{"name": "d"}],
            containers=[container(volumeMounts=[{"name": "d", "mountPath": "/d", "subPath": "../../etc"}])],
        ),
        "spec.containers[0].volumeMounts[0].subPath: Invalid value: \"../../etc\": must not contain '..'",
    ),
    (
        pod(volumes=[{"name": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
        "spec.volumes[0]: Forbidden: may not specify more than 1 volume type",
    ),
    (
        pod(volumes=[{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "/etc/passwd"}]}}]),
        'spec.volumes[0].configMap.items[0].path: Invalid value: "/etc/passwd": must be a relative path',
    ),
    (
        pod(containers=[container(livenessProbe={})]),
        "spec.containers[0].livenessProbe: Required value: must specify a handler type",
    ),
    (
        pod(containers=[container(livenessProbe={"tcpSocket": {"port": 80}, "exec": {"command": ["a"]}})]),
        "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    (
        pod(containers=[container(livenessProbe={"tcpSocket": {"port": 80}, "successThreshold": 2})]),
        "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ),
    (
        pod(containers=[container(env=[{"name": "A=B"}])]),
        'spec.containers[0].env[0].name: Invalid value: "A=B"',
    ),
    (
        pod(containers=[container(env=[{"name": "A", "valueFrom": {}}])]),
        'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of',
    ),
    (
        pod(containers=[container(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}])]),
        'spec.containers[0].ports[1].name: Duplicate value: "a"',
    ),
    (
        pod(tolerations=[{"operator": "Exists", "key": "a", "value": "b"}]),
        "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ),
    (
        pod(tolerations=[{"value": "b"}]),
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty',
    ),
    (
        pod(
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                    }
                }
            }
        ),
        (
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        ),
    ),
    (
        pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}] * 2),
        'spec.topologySpreadConstraints[1]: Duplicate value: "{a, ScheduleAnyway}"',
    ),
    (pod(hostname="a.b"), 'spec.hostname: Invalid value: "a.b"'),
    (pod(hostAliases=[{"ip": "here"}]), 'spec.hostAliases[0].ip: Invalid value: "here"'),
    (
        pod(initContainers=[container(name="i", readinessProbe={"exec": {"command": ["a"]}})]),
        "spec.initContainers[0].readinessProbe: Forbidden",
    ),
    (pod(dnsPolicy="None"), "spec.dnsConfig.nameservers: Required value"),
    (
        pod(schedulingGates=[{"name": "a"}], nodeName="n"),
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    ),
]


@pytest.mark.parametrize(("given", "cause"), WRONG, ids=[cause[:60] for _, cause in WRONG])
def test_what_is_wrong_is_named_with_its_field(given: dict[str, Any], cause: str) -> None:
    said = refusal_of("Pod", given)
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


def test_sidecars_may_have_probes() -> None:
    sidecar = container(name="i", restartPolicy="Always", readinessProbe={"exec": {"command": ["a"]}})
    assert created("Pod", pod(initContainers=[sidecar]))


@pytest.fixture
def running() -> Draft:
    return draft_of("Pod", pod(tolerations=[{"key": "a", "operator": "Exists"}]))


def test_images_and_deadlines_may_change(running: Draft) -> None:
    document = changed(running, "spec", "containers", 0, "image", to="python:3.12")
    document["spec"]["activeDeadlineSeconds"] = 60
    after = updated("Pod", running, document)
    assert after["spec"]["containers"][0]["image"] == "python:3.12"
    assert after["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "nodeName"), "elsewhere"),
        (("spec", "containers", 0, "command"), ["other"]),
        (("spec", "priority"), 9),
        (("spec", "restartPolicy"), "Never"),
        (("spec", "nodeSelector"), {"a": "b"}),
    ],
)
def test_the_rest_of_a_pod_stays_as_it_is(running: Draft, path: tuple[str, ...], value: Any) -> None:
    with Refusal() as said:
        updated("Pod", running, changed(running, *path, to=value))
    assert said.causes[0].startswith("spec: Forbidden: pod updates may not change fields other than")


def test_tolerations_may_be_added_but_not_taken_away(running: Draft) -> None:
    more = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    assert updated("Pod", running, changed(running, "spec", "tolerations", to=more))
    with Refusal() as said:
        updated("Pod", running, changed(running, "spec", "tolerations", to=None))
    assert said.causes[0].startswith("spec.tolerations: Forbidden")


def test_gates_may_be_taken_away_but_not_added() -> None:
    gated = draft_of("Pod", pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))
    assert updated("Pod", gated, changed(gated, "spec", "schedulingGates", to=[{"name": "b"}]))
    with Refusal() as said:
        updated("Pod", gated, changed(gated, "spec", "schedulingGates", to=[{"name": "c"}]))
    assert "found new scheduling gates c" in said.causes[0]


def test_a_client_that_leaves_out_what_is_empty_changes_nothing() -> None:
    old = draft_of("Pod", pod(volumes=[], hostNetwork=False, nodeSelector={}))
    document = old.document()
    for name in ("volumes", "hostNetwork", "nodeSelector"):
        del document["spec"][name]
    assert updated("Pod", old, document)


def test_spec_and_status_are_written_through_different_doors(running: Draft) -> None:
    document = changed(running, "status", "phase", to="Running")
    assert updated("Pod", running, document)["status"]["phase"] == "Pending"
    document["spec"]["nodeName"] = "forged"
    through_status = updated("Pod", running, document, "status")
    assert through_status["status"]["phase"] == "Running"
    assert "nodeName" not in through_status["spec"]
    assert through_status["metadata"]["generation"] == 1


def test_binding_sets_the_node_and_the_condition(running: Draft) -> None:
    document = changed(running, "spec", "nodeName", to="node-a")
    document["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    bound = updated("Pod", running, document, "binding")
    assert bound["spec"]["nodeName"] == "node-a"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
