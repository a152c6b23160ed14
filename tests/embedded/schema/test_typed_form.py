"""Reading objects of built-in kinds: what is filled in, what is refused, and in which words."""

import json
from typing import Any

import pytest

from tests.embedded.schema.forms import FORMS, Refusal, container, created, job, pod
from understudy.embedded.schema.served_resource import Strictness


def read(kind: str, body: bytes | dict[str, Any], strictness: Strictness = Strictness.STRICT) -> dict[str, Any]:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return FORMS[kind].read(text, strictness).draft.document()


def refusal(kind: str, body: bytes | dict[str, Any]) -> Refusal:
    with Refusal() as said:
        read(kind, body)
    return said


def test_defaults_are_filled_in_as_kubernetes_does() -> None:
    spec = read("Pod", pod())["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


def test_kind_and_version_may_be_left_out_and_are_filled_in() -> None:
    document = read("Job", job())
    assert (document["apiVersion"], document["kind"]) == ("batch/v1", "Job")


def test_an_object_of_another_kind_or_version_is_refused() -> None:
    said = refusal("Pod", {"apiVersion": "v1", "kind": "ConfigMap"})
    assert said.code == 400
    assert said.message.startswith('ConfigMap in version "v1" cannot be handled as a Pod')
    said = refusal("Pod", {"apiVersion": "v2", **pod()})
    expected = "the API version in the data (v2) does not match the expected API version (v1)"
    assert (said.code, said.message) == (400, expected)
    assert refusal("Pod", {**pod(), "apiVersion": ["v1"], "kind": {}}).code == 400


def test_priority_classes_are_taken_under_their_old_version_too() -> None:
    given = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 5}
    assert read("PriorityClass", given)["apiVersion"] == "scheduling.k8s.io/v1"


def test_quantities_given_as_numbers_become_text() -> None:
    limits = {"nvidia.com/gpu": 1, "cpu": 0.5, "memory": 2.0}
    document = read("Pod", pod(containers=[container(resources={"limits": limits})]))
    expected = {"nvidia.com/gpu": "1", "cpu": "500m", "memory": "2"}
    assert document["spec"]["containers"][0]["resources"]["limits"] == expected


def test_nonsense_quantities_are_refused_with_their_field() -> None:
    said = refusal("Pod", pod(containers=[container(resources={"limits": {"cpu": "lots"}})]))
    assert said.code == 422
    assert said.causes[0].startswith('spec.containers[0].resources.limits[cpu]: Invalid value: "lots": quantities must')


def test_an_integer_or_a_name_stays_what_it_is() -> None:
    probes = {"readinessProbe": {"httpGet": {"port": "web"}}, "livenessProbe": {"tcpSocket": {"port": 80}}}
    read_back = read("Pod", pod(containers=[container(**probes)]))["spec"]["containers"][0]
    assert read_back["readinessProbe"]["httpGet"]["port"] == "web"
    assert read_back["livenessProbe"]["tcpSocket"]["port"] == 80


def test_a_null_means_the_same_as_nothing() -> None:
    given = pod(nodeSelector=None, containers=[container(env=None, args=[None, "a"])])
    given["metadata"]["creationTimestamp"] = None
    document = read("Pod", given)
    assert "creationTimestamp" not in document["metadata"]
    assert "nodeSelector" not in document["spec"]
    assert document["spec"]["containers"][0]["args"] == ["a"]


def test_an_empty_word_gets_the_default() -> None:
    assert read("Pod", pod(restartPolicy=""))["spec"]["restartPolicy"] == "Always"


def test_whole_numbers_with_a_point_are_whole_numbers() -> None:
    assert read("Job", job(parallelism=2.0))["spec"]["parallelism"] == 2


def test_unknown_fields_are_refused_all_at_once_in_kubernetes_words() -> None:
    said = refusal("Pod", pod(foo=1, containers=[container(zzz=True)]))
    expected = (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.containers[0].zzz", unknown field "spec.foo"'
    )
    assert (said.code, said.error.reason, said.message) == (400, "BadRequest", expected)


def test_unknown_fields_are_dropped_with_a_warning_or_without() -> None:
    body = json.dumps(pod(foo=1)).encode()
    warned = FORMS["Pod"].read(body, Strictness.WARN)
    assert warned.warnings == ('unknown field "spec.foo"',)
    assert "foo" not in warned.draft.document()["spec"]
    assert FORMS["Pod"].read(body, Strictness.IGNORE).warnings == ()


def test_containers_directly_under_a_job_get_a_hint_where_they_belong() -> None:
    said = refusal("Job", {"spec": {"containers": [], "nodeSelector": {}}})
    assert said.message == (
        'Job in version "v1" cannot be handled as a Job: strict decoding error: '
        'unknown field "spec.containers", unknown field "spec.nodeSelector"; '
        "did you mean spec.template.spec.containers, spec.template.spec.nodeSelector?"
    )


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (pod(contianers=1), "spec.containers"),
        (pod(nodeselector=1), "spec.nodeSelector"),
        (pod() | {"nodeName": "a"}, "spec.nodeName"),
        (pod() | {"labels": {}}, "metadata.labels"),
    ],
    ids=["a typo", "wrong case", "forgotten spec", "forgotten metadata"],
)
def test_common_mistakes_get_a_hint(given: dict[str, Any], hint: str) -> None:
    assert refusal("Pod", given).message.endswith(f"; did you mean {hint}?")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            pod(containers=[container(image=5)]),
            "json: cannot unmarshal number into Go struct field Container.spec.containers[0].image of type string",
        ),
        (
            pod(containers="main"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            pod(activeDeadlineSeconds="5"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.activeDeadlineSeconds of type int32",
        ),
        (
            pod(priority=2**40),
            "json: cannot unmarshal number 1099511627776 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            pod(hostNetwork="yes"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
    ],
)
def test_the_wrong_type_is_a_bad_request_with_the_field(given: dict[str, Any], words: str) -> None:
    said = refusal("Pod", given)
    assert (said.code, said.message) == (400, f'Pod in version "v1" cannot be handled as a Pod: {words}')


def test_missing_and_wrong_values_are_told_together() -> None:
    said = refusal("Pod", pod(restartPolicy="Sometimes", containers=[{"ports": [{"containerPort": 0}]}]))
    assert said.code == 422
    assert said.causes == [
        "spec.containers[0].ports[0].containerPort: Invalid value: 0: must be between 1 and 65535, inclusive",
        "spec.containers[0].name: Required value",
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
    ]
    assert said.message == f'Pod "trainer" is invalid: [{", ".join(said.causes)}]'


def test_what_is_missing_is_named_down_to_the_field() -> None:
    assert refusal("Pod", {"metadata": {"name": "a"}}).message == 'Pod "a" is invalid: spec.containers: Required value'


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"{} {}", b'{"a":NaN}', b"\xff", b'{"metadata":{"name":"\xff"}}',
        b'{"metadata":{"name":"\\ud800"}}', b"[" * 1_000_000, b'{"a":' * 1_000_000,
        b'{"metadata":' * 400 + b"1" + b"}" * 400,
        b'{"metadata":{"managedFields":[{"fieldsV1":' + b'{"f:a":' * 100_000 + b"{}" + b"}" * 100_000 + b"}]}}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["Pod", "CustomResourceDefinition"])
def test_what_is_no_object_is_a_bad_request(kind: str, body: bytes) -> None:
    assert refusal(kind, body).code == 400


def test_deeply_nested_data_that_can_be_read_is_refused_all_the_same() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"f:a": deep}
    given = pod()
    given["metadata"]["managedFields"] = [{"fieldsV1": deep}]
    with Refusal() as said:
        created("Pod", given)
    assert said.causes == ["metadata.managedFields[0].fieldsV1: Forbidden: is nested too deeply"]


def test_floods_of_mistakes_get_a_short_answer() -> None:
    said = refusal("Pod", pod(**{f"field{i}": i for i in range(50_000)}))
    assert said.message.count("unknown field") == 100
    said = refusal("Pod", pod(containers=[{}] * 50_000))
    assert len(said.causes) == 100
    long = "x" * 1_000_000
    assert len(refusal("Pod", pod(**{long: 1})).message) < 1000
    assert len(refusal("Pod", pod(containers=[container(resources={"limits": {long: "?"}})])).message) < 2000
    with Refusal() as admitted:
        created("Pod", pod(containers=[container(name=f"c{i}", image="") for i in range(5_000)]))
    assert len(admitted.causes) == 100


def test_numbers_beyond_all_bounds_are_refused() -> None:
    for number in (10**30, -(10**30), 1e300):
        assert refusal("Pod", pod(terminationGracePeriodSeconds=number)).code == 400


def test_times_must_be_times() -> None:
    said = refusal("Lease", {"spec": {"renewTime": "yesterday"}})
    assert said.code == 400
    assert 'spec.renewTime: parsing time "yesterday"' in said.message
    assert read("Lease", {"spec": {"renewTime": "2024-05-01T10:00:00.123456Z"}})


def test_secret_data_must_be_base64() -> None:
    assert refusal("Secret", {"data": {"a": "%%%"}}).code == 400
    assert refusal("Secret", {"data": {"a": "aGVs bG8="}}).code == 400


def test_base64_may_be_wrapped_and_is_stored_in_one_line() -> None:
    assert read("Secret", {"data": {"tls.crt": "aGVs\r\nbG8=\n"}})["data"] == {"tls.crt": "aGVsbG8="}
    assert read("ConfigMap", {"binaryData": {"a": "\naGVs\nbG8="}})["binaryData"] == {"a": "aGVsbG8="}


def test_what_is_stored_is_read_even_if_another_release_wrote_it() -> None:
    draft = FORMS["ConfigMap"].load(
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"invented":1,"data":{"a":"b"}}'
    )
    assert draft.document()["data"] == {"a": "b"}


def test_real_clients_find_the_fields_they_insist_on() -> None:
    status = read("Pod", {**pod(), "status": {"containerStatuses": [{"name": "main"}]}})["status"]
    assert status["containerStatuses"][0] == {
        "name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": {}, "lastState": {},
    }  # fmt: skip
    info = read("Node", {"status": {"nodeInfo": {"kubeletVersion": "v1"}}})["status"]["nodeInfo"]
    assert len(info) == 10
    assert refusal("Event", {"metadata": {"name": "a"}}).causes == ["involvedObject: Required value"]
    unsaid = {**pod(), "status": {"conditions": [{"type": "Ready"}]}}
    assert refusal("Pod", unsaid).causes == ["status.conditions[0].status: Required value"]


def test_lists_say_how_they_are_merged() -> None:
    keys = FORMS["Job"].list_keys
    assert keys["spec.template.spec.containers"] == ("name",)
    assert keys["spec.template.spec.containers.ports"] == ("containerPort", "protocol")
    assert keys["status.conditions"] == ("type",)
    assert keys["metadata.finalizers"] == ()
    assert "spec.template.spec.tolerations" not in keys
    assert FORMS["Service"].list_keys["spec.ports"] == ("port", "protocol")
    assert FORMS["Node"].list_keys["status.addresses"] == ("type",)
    assert "spec.taints" not in FORMS["Node"].list_keys
