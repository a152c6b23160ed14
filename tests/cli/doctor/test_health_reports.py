"""Which reporters of trouble are seen in a cluster, and which kinds of trouble have none."""

import fnmatch

import pytest

from tests.cli.doctor.cases import SERVED, gpu_node, nodes_seen, seen, texts
from tests.objects.documents import Document, node, pod
from understudy.cli.doctor.findings import Finding, Level
from understudy.cli.doctor.health_reports import TRACES, check_health_reports
from understudy.control.view.node_signals import DEFAULT_SIGNALS


def findings(*documents: Document, pods: tuple[Document, ...] = (), **facts: object) -> list[Finding]:
    return check_health_reports(seen(**nodes_seen(list(documents), *pods), **facts))


def well(kind: str) -> Document:
    """A condition as reporters write it while all is well."""
    return {"type": kind, "status": "False"}


def gpu_with(*conditions: Document) -> Document:
    document = gpu_node("a")
    document["status"]["conditions"] = list(conditions)
    return document


def test_a_cluster_without_reporters_is_told_what_that_costs() -> None:
    found = findings(gpu_node("a"), gpu_node("b", {"cloud.google.com/gke-spot": "true"}))
    assert [(one.level, bool(one.fix)) for one in found] == [
        (Level.CARE, True),
        (Level.CARE, True),
        (Level.NOTE, True),
        (Level.NOTE, True),
    ]
    assert texts(found)[0].startswith("no reporter of sick accelerators is seen, on 2 such nodes: ")
    assert texts(found)[1].startswith("no reporter of the end of spot machines is seen, on 1 such node: ")


def test_what_the_cluster_does_not_have_needs_no_reporter() -> None:
    assert texts(findings(node("a")), Level.CARE) == []


@pytest.mark.parametrize(
    ("condition", "reporter"),
    [
        ("GpuMemWatch", "NVSentinel"),
        ("SysLogsXIDError", "NVSentinel"),
        ("AcceleratedHardwareReady", "EKS node monitoring agent"),
        ("NVLinkStatusInactive", "AKS"),
        ("GPUUnhealthy", "the node agent of Understudy"),
    ],
)
def test_reporters_of_sick_accelerators_are_known_by_their_conditions(condition: str, reporter: str) -> None:
    found = findings(gpu_with(well(condition)))
    assert texts(found, Level.WELL) == [f"reports on nodes: {reporter} (sick accelerators)"]
    assert texts(found, Level.CARE) == []


def test_reporters_that_write_only_when_something_happens_are_known_by_their_pods() -> None:
    spot = gpu_node("a", {"eks.amazonaws.com/capacityType": "SPOT"})
    handler = pod("aws-node-termination-handler-x7k2p", "a")
    found = findings(spot, pods=(handler,))
    assert texts(found, Level.WELL) == [
        "reports on nodes: aws-node-termination-handler (the end of spot machines, maintenance)"
    ]
    assert not [text for text in texts(found) if "no reporter of the end" in text]


def test_reporters_are_known_by_labels_taints_annotations_and_kinds() -> None:
    labelled = node("a", {"labels": {"cloud.google.com/gke-nodepool": "p"}})
    tainted = node("b", taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])
    annotated = node("c", {"annotations": {"understudy.dev/notice": "deadline=2026-01-01T00:00:00Z"}})
    served = {**SERVED, "nvsentinel.nvidia.com": {"v1alpha1": frozenset({"drainrequests"})}}
    [told] = texts(findings(labelled, tainted, annotated, served=served), Level.WELL)
    assert told == (
        "reports on nodes: GKE (maintenance); Karpenter (the end of spot machines, maintenance); NVSentinel; "
        "the node agent of Understudy (the end of spot machines, maintenance)"
    )


def test_an_embedded_cluster_and_one_without_nodes_are_passed_over() -> None:
    assert findings(gpu_node("a"), embedded=True) == []
    assert check_health_reports(seen()) == []
    assert check_health_reports(seen(nodes=None)) == []


def test_every_condition_that_is_looked_for_is_one_that_counts() -> None:
    """A name that was misspelt here would never be found."""
    known = {rule.condition for rule in DEFAULT_SIGNALS if rule.condition}
    for pattern in (pattern for trace in TRACES for pattern in trace.conditions):
        assert fnmatch.filter(known, pattern), pattern
