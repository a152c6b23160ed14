"""What a gang lacks, as the documents of a ProvisioningRequest: the same for the same needs, and only for those."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.decide.builders import GPU, cluster, jobset, leaving, lost, node, queued, running, shape
from understudy.control.apply.provisioning_documents import (
    AutoscalerSettings,
    MachineNeed,
    machine_need,
    waits_for_machines,
)
from understudy.model.gangs import Gang, HostPort, Island, Member, PodTerm, Shape, SpreadConstraint
from understudy.model.nodes import Toleration
from understudy.model.plans import WaitCode, WaitReason
from understudy.model.selectors import NodeTerm, Requirement, Selector
from understudy.objects.jobs import Job
from understudy.objects.meta import ObjectMeta

OWNER = Job("Job", "batch/v1", ObjectMeta("job", uid="u-1"), spec=None)  # type: ignore[arg-type]


def need(gang: Gang, *nodes: Any, owner: Job = OWNER) -> MachineNeed:
    found = machine_need(gang, cluster(*nodes, gang), owner)
    assert found is not None
    return found


def template(asks: Shape) -> dict[str, Any]:
    ((_, found),) = need(queued("g", asks=asks)).templates
    return found


def test_alike_pods_are_one_template_and_others_another() -> None:
    pods = (Member("a", shape(8)), Member("b", shape(8)), Member("c", shape(0, cpu=500)))
    found = need(replace(queued("g"), islands=(Island("i", pods),)))
    asked = {count: one["spec"]["containers"][0]["resources"] for count, one in found.templates}
    assert asked == {2: {"requests": {GPU: "8"}, "limits": {GPU: "8"}}, 1: {"requests": {"cpu": "500m"}}}
    settings = AutoscalerSettings("c")
    assert [one["podTemplateRef"]["name"] for one in found.request(3, settings, "s")["spec"]["podSets"]] == [
        one["metadata"]["name"] for one in found.pod_templates(3)
    ]


def test_a_template_requires_what_the_pod_requires_of_a_node() -> None:
    zone, disk = (Requirement(key, "In", ("x",)) for key in ("zone", "disk"))
    asks = shape(
        8,
        selector=(("pool", "gpu"),),
        tolerations=(Toleration("spot", "Exists"),),
        required=(NodeTerm((zone,)),),
        volumes=((NodeTerm((disk,)),),),
        host_ports=(HostPort(80),),
    )
    spec = template(asks)["spec"]
    assert spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["tolerations"] == [{"key": "spot", "operator": "Exists"}]
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [one["key"] for one in term["matchExpressions"]] == ["zone", "disk"]
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80


def test_rules_about_other_pods_keep_the_labels_that_they_look_at() -> None:
    same = Selector((Requirement("gang", "In", ("g",)),))
    apart, even = PodTerm("rack", same, ("default",)), SpreadConstraint("zone", 1, True, same)
    asks = shape(anti_affinity=(apart,), spreads=(even,))
    found = template(asks)
    assert found["metadata"]["labels"] == {"gang": "g"}
    (term,) = found["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert (term["topologyKey"], term["namespaces"]) == ("rack", ["default"])
    assert found["spec"]["topologySpreadConstraints"][0]["maxSkew"] == 1
    assert "metadata" not in template(shape())


def test_the_name_follows_from_the_needs() -> None:
    gang = queued("g", 2)
    other_pods = replace(gang, islands=(Island("i", tuple(Member(f"new-{i}", shape()) for i in range(2))),))
    assert need(gang).name == need(other_pods).name
    renewed = Job("Job", "batch/v1", ObjectMeta("job", uid="u-2"), spec=None)  # type: ignore[arg-type]
    others = (queued("g", 3), queued("g", 2, gpus=4), queued("g", 2, priority=5))
    assert len({need(gang).name, need(gang, owner=renewed).name, *(need(other).name for other in others)}) == 5


def test_names_can_be_names_of_objects_and_values_of_annotations() -> None:
    name = need(queued(f"{'x' * 39}.{'y' * 60}")).request_name(1)
    assert name.startswith(f"understudy-{'x' * 39}-")
    assert len(name) <= 63


def test_only_members_on_nodes_that_go_are_asked_for() -> None:
    gang = running("g", "a b c")
    nodes = (leaving(node("a")), lost(node("b")), node("c"))
    assert [count for count, _ in need(gang, *nodes).templates] == [2]
    assert machine_need(gang, cluster(node("a"), node("b"), node("c"), gang), OWNER) is None


def test_an_elastic_gang_asks_for_its_minimum() -> None:
    assert [count for count, _ in need(queued("g", 6, min_members=2)).templates] == [2]
    gang = running("g", "a b c", min_members=2)
    assert machine_need(gang, cluster(lost(node("a")), node("b"), node("c"), gang), OWNER) is None


def test_an_island_that_works_only_whole_is_asked_for_whole() -> None:
    gang = jobset("g", 2, 2, on="a b c d")
    nodes = (leaving(node("a", slice="s")), node("b", slice="s"), node("c", slice="t"), node("d", slice="t"))
    assert [count for count, _ in need(gang, *nodes).templates] == [2]


@pytest.mark.parametrize(
    ("code", "guard", "asks"),
    [
        (WaitCode.NO_ROOM, "", True),
        (WaitCode.NO_REPLACEMENT, "", True),
        (WaitCode.BLOCKED_DOMAINS, "", True),
        (WaitCode.GUARDED, "preemption delay: it waits", True),
        (WaitCode.GUARDED, "preemption budget: others were preempted", True),
        (WaitCode.GUARDED, "back-off: it failed", False),
        (WaitCode.GUARDED, "mass failure: 10 nodes", False),
        (WaitCode.VICTIMS_LEAVING, "", False),
        (WaitCode.SUSPENDED, "", False),
        (WaitCode.CHECKPOINTING, "", False),
    ],
)
def test_machines_are_asked_for_where_they_would_help(code: WaitCode, guard: str, asks: bool) -> None:
    assert waits_for_machines(WaitReason(code, "", guard=guard)) is asks
