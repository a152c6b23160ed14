"""Pod specs into Shapes: every constraint of a pod, and one Shape for all pods of a template."""

from typing import Any

import pytest

from tests.objects.documents import Document, container, metadata, pod
from understudy.kinds.decoding import decode
from understudy.model.gangs import HostPort, PodTerm, Shape, SpreadConstraint
from understudy.model.nodes import Toleration
from understudy.model.selectors import NodeTerm, Requirement, Selector
from understudy.objects.cluster_objects import Namespace, PersistentVolume, PersistentVolumeClaim, StorageClass
from understudy.objects.pod_shapes import ShapeCache, Surroundings
from understudy.objects.pods import Pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def shape(shapes: ShapeCache | None = None, labels: Document | None = None, name: str = "x", **spec: Any) -> Shape:
    found = decode(pod(name, meta={"labels": labels or {}}, **spec))
    assert isinstance(found, Pod)
    return (shapes or ShapeCache()).of(found.spec, found.metadata.namespace, name, found.metadata.labels)


def requirement(operator: str, *values: str) -> Requirement:
    return Requirement("zone", operator, values)


def test_resources_and_accelerators() -> None:
    found = shape(
        containers=[container({"cpu": "1", "nvidia.com/gpu": 4, "rdma/ib": 1}), container({"amd.com/gpu": 2})]
    )
    assert found.accelerators == 6
    assert dict(found.requests) == {"cpu": 1000, "nvidia.com/gpu": 4, "amd.com/gpu": 2, "rdma/ib": 1, "pods": 1}


def test_node_selector_and_tolerations() -> None:
    found = shape(
        nodeSelector={"b": "2", "a": "1"},
        tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}],
    )
    assert found.selector == (("a", "1"), ("b", "2"))
    assert found.tolerations == (Toleration(operator="Exists"), Toleration("k", "Equal", "v", "NoExecute"))


@pytest.mark.parametrize(
    ("operator", "values"),
    [("In", ["a", "b"]), ("NotIn", ["a"]), ("Exists", []), ("DoesNotExist", []), ("Gt", ["3"]), ("Lt", ["-3"])],
)
def test_every_operator_of_node_affinity(operator: str, values: list[str]) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    term = {"matchExpressions": [expression]}
    affinity = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}, PREFERRED: [{"weight": 7, "preference": term}]}
    }
    found = shape(affinity=affinity)
    assert found.required == (NodeTerm((requirement(operator, *values),)),)
    assert found.preferred == ((7, found.required[0]),)


def test_fields_and_alternatives_of_node_affinity() -> None:
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    found = shape(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [by_name, {}]}}})
    assert found.required == (NodeTerm((), (Requirement("metadata.name", "In", ("n1",)),)), NodeTerm())


def test_pod_affinity_both_ways() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    weighted = [{"weight": 5, "podAffinityTerm": term}]
    found = shape(
        affinity={
            "podAffinity": {REQUIRED: [term], PREFERRED: weighted},
            "podAntiAffinity": {REQUIRED: [term], PREFERRED: weighted},
        }
    )
    expected = PodTerm("zone", Selector((Requirement("app", "In", ("db",)),)), ("default",))
    assert found.affinity == found.anti_affinity == (expected,)
    assert found.preferred_affinity == ((5, expected), (-5, expected))


@pytest.mark.parametrize(
    ("fields", "namespaces", "every"),
    [
        ({}, ("default",), False),
        ({"namespaces": ["b", "a"]}, ("a", "b"), False),
        ({"namespaceSelector": {}}, (), True),
        ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, ("one",), False),
        ({"namespaceSelector": {"matchLabels": {"team": "red"}}, "namespaces": ["a"]}, ("a", "one"), False),
    ],
)
def test_namespaces_of_a_term(fields: Document, namespaces: tuple[str, ...], every: bool) -> None:
    around = Surroundings()
    for name, team in (("one", "red"), ("two", "blue")):
        found = decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
        assert isinstance(found, Namespace)
        around.namespaces[name] = found
    affinity = {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}, **fields}]}}
    assert shape(ShapeCache(around), affinity=affinity).affinity == (PodTerm("zone", Selector(), namespaces, every),)


def test_a_namespace_selector_without_namespaces_is_refused_in_words() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "red"}}}
    assert "namespaceSelector" in shape(affinity={"podAffinity": {REQUIRED: [term]}}).unsupported[0]


def test_label_keys_are_folded_into_the_selector() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"run": "7"}},
        "matchLabelKeys": ["run", "absent"],
        "mismatchLabelKeys": ["team"],
    }
    found = shape(labels={"run": "7", "team": "red"}, affinity={"podAntiAffinity": {REQUIRED: [term]}})
    expected = Selector((Requirement("run", "In", ("7",)), Requirement("team", "NotIn", ("red",))))
    assert found.anti_affinity[0].selector == expected


def test_a_term_without_a_selector_matches_no_pod() -> None:
    assert shape(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}).affinity[0].selector is None


def test_spread_constraints() -> None:
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["run"],
    }
    soft = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    found = shape(labels={"run": "7"}, topologySpreadConstraints=[constraint, soft])
    selector = Selector((Requirement("app", "In", ("a",)), Requirement("run", "In", ("7",))))
    assert found.spreads == (
        SpreadConstraint("zone", 2, True, selector, 3, honor_affinity=False, honor_taints=True),
        SpreadConstraint("rack", 1, False, Selector()),
    )


@pytest.mark.parametrize(
    ("host_network", "port", "expected"),
    [
        (False, {"containerPort": 80}, ()),
        (False, {"containerPort": 80, "hostPort": 8080}, (HostPort(8080),)),
        (True, {"containerPort": 80}, (HostPort(80),)),
        (
            True,
            {"containerPort": 80, "hostPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"},
            (HostPort(80, "UDP", "10.0.0.1"),),
        ),
    ],
)
def test_host_ports(host_network: bool, port: Document, expected: tuple[HostPort, ...]) -> None:
    assert shape(hostNetwork=host_network, containers=[container(ports=[port])]).host_ports == expected


def test_sidecars_have_ports_and_init_containers_have_none() -> None:
    init = [container(ports=[{"containerPort": 1}], restartPolicy="Always"), container(ports=[{"containerPort": 2}])]
    assert shape(hostNetwork=True, initContainers=init).host_ports == (HostPort(1),)


def with_claim(volume: str, nodes: list[str] | None = None, **spec: Any) -> ShapeCache:
    around = Surroundings()
    claim = decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata("data"),
            "spec": {"volumeName": volume, **spec},
        }
    )
    assert isinstance(claim, PersistentVolumeClaim)
    around.claims["default", "data"] = claim
    if nodes is not None:
        terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": nodes}]}]
        document = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if nodes else {}
        found = decode({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": document})
        assert isinstance(found, PersistentVolume)
        around.volumes["pv"] = found
    return ShapeCache(around)


def of_class(shapes: ShapeCache, **fields: Any) -> ShapeCache:
    """The class that the claim names."""
    document = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, **fields}
    found = decode(document)
    assert isinstance(found, StorageClass)
    shapes.surroundings.classes["fast"] = found
    return shapes


FIRST_CONSUMER = {"provisioner": "disks.example", "volumeBindingMode": "WaitForFirstConsumer"}
TO_BE: dict[str, Any] = {"storageClassName": "fast"}
CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp", "emptyDir": {}}]


def test_volumes_bind_pods_to_where_they_can_be_reached() -> None:
    found = shape(with_claim("pv", ["a"]), volumes=CLAIM)
    assert found.volumes == ((NodeTerm((requirement("In", "a"),)),),)
    assert not found.unsupported
    assert shape(with_claim("pv", []), volumes=CLAIM) == shape()


def test_a_volume_that_is_made_where_its_pod_is_binds_it_to_where_that_can_be() -> None:
    found = shape(of_class(with_claim("", **TO_BE), **FIRST_CONSUMER), volumes=CLAIM)
    assert (found.volumes, found.unmade, found.unsupported) == ((), (("data", ""),), ())
    by_default = {"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    assert shape(of_class(with_claim(""), **FIRST_CONSUMER, **by_default), volumes=CLAIM) == found
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": [zone]}]} for zone in "ab"]
    shapes = of_class(with_claim("", **TO_BE), **FIRST_CONSUMER, allowedTopologies=topologies)
    terms = tuple(NodeTerm((requirement("In", zone),)) for zone in "ab")
    assert shape(shapes, volumes=CLAIM).volumes == (terms,)


def test_where_claims_are_not_known_they_impose_no_conditions() -> None:
    assert shape(volumes=CLAIM) == shape()


@pytest.mark.parametrize(
    ("shapes", "name", "words"),
    [
        (with_claim(""), "data", "default/data is not bound"),
        (with_claim("", **TO_BE), "data", "default/data is not bound; where"),
        (of_class(with_claim("", **TO_BE), provisioner="disks.example"), "data", "default/data is not bound; where"),
        (
            of_class(with_claim("", **TO_BE), **{**FIRST_CONSUMER, "provisioner": "kubernetes.io/no-provisioner"}),
            "data",
            "the class fast has no provisioner: name a volume as its volumeName",
        ),
        (with_claim("pv"), "data", "default/data is bound to pv, which is not known"),
        (with_claim("pv", []), "other", "default/other does not exist"),
        (with_claim("pv", [], accessModes=["ReadWriteOncePod"]), "data", "is ReadWriteOncePod, which is not supported"),
    ],
)
def test_volumes_that_are_not_understood_are_refused_in_words(shapes: ShapeCache, name: str, words: str) -> None:
    found = shape(shapes, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])
    assert words in found.unsupported[0]


def test_ephemeral_volumes_have_claims_of_their_own() -> None:
    """They are created after their pods, and a replacement pod gets new ones."""
    shapes = with_claim("pv", ["a"])
    own = [{"name": "x", "ephemeral": {}}]
    assert shape(shapes, name="p", volumes=own).unmade == (("p-x", None),)
    shapes.surroundings.claims["default", "p-x"] = shapes.surroundings.claims["default", "data"]
    shapes.forget()
    assert shape(shapes, name="p", volumes=own).volumes
    assert not shape(shapes, name="p", volumes=own, nodeName="a").volumes


def test_what_is_not_supported_is_said() -> None:
    assert len(shape(resourceClaims=[{"name": "gpu"}]).unsupported) == 1


def test_the_group_of_a_pod_asks_nothing_of_its_node() -> None:
    shapes = ShapeCache()
    assert shape(shapes, schedulingGroup={"podGroupName": "g"}) is shape(shapes)


def test_pods_of_one_template_share_one_shape() -> None:
    shapes = ShapeCache()
    random_volume: Document = {"volumes": [{"name": "kube-api-access-abcde", "projected": {}}]}
    assert shape(shapes, labels={"a": "1"}, name="one") is shape(shapes, labels={"a": "2"}, name="two")
    assert shape(shapes, name="one") is shape(shapes, name="two", **random_volume)
    assert shape(shapes, nodeSelector={"a": "1"}) is not shape(shapes, nodeSelector={"a": "2"})


def test_specs_that_differ_in_any_field_have_different_shapes() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["run"]}
    shapes = ShapeCache()
    found = [
        shape(shapes),
        shape(shapes, overhead={"cpu": "1"}),
        shape(shapes, hostNetwork=True, containers=[container({"cpu": "1"}, ports=[{"containerPort": 1}])]),
        shape(shapes, containers=[container({"cpu": "1"}, ports=[{"containerPort": 1, "hostPort": 2}])]),
        shape(shapes, initContainers=[container({"cpu": "5"})]),
        shape(shapes, tolerations=[{"operator": "Exists"}]),
        shape(shapes, resources={"requests": {"cpu": "9"}}),
        shape(shapes, resourceClaims=[{"name": "gpu"}]),
        shape(shapes, labels={"run": "1"}, affinity={"podAffinity": {REQUIRED: [term]}}),
        shape(shapes, labels={"run": "2"}, affinity={"podAffinity": {REQUIRED: [term]}}),
        shape(shapes, labels={"run": "2"}, affinity={"podAntiAffinity": {REQUIRED: [term]}}),
    ]
    assert len(set(found)) == len(found)


def test_what_jobset_injected_can_be_left_off() -> None:
    own = {"labelSelector": {"matchExpressions": [{"key": "job-key", "operator": "Exists"}]}, "topologyKey": "pool"}
    users = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "pool"}
    elsewhere = {**own, "topologyKey": "rack"}
    affinity = {"podAffinity": {REQUIRED: [own]}, "podAntiAffinity": {REQUIRED: [own, users, elsewhere]}}
    shapes = ShapeCache()
    full = shape(shapes, affinity=affinity, nodeSelector={"pool": "a", "zone": "z"})
    leader = shapes.without_injected(full, "pool", "job-key", follower=False)
    assert leader.affinity == ()
    assert leader.anti_affinity == full.anti_affinity[1:]
    assert leader.selector == full.selector
    follower = shapes.without_injected(full, "pool", "job-key", follower=True)
    assert follower.selector == (("zone", "z"),)
