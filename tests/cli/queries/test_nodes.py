"""How a node is, judged as the scheduler would, and what it belongs to."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from understudy.cli.queries.node_health import NodeHealthReader, cluster_time
from understudy.cli.queries.nodes import POOLS, NodeSummary, NodeUsage, first_label
from understudy.cli.queries.objects import NodeState
from understudy.control.view.node_health import DEFAULT_LIMITS
from understudy.kinds.decoding import decode
from understudy.model.nodes import Capacity, Health, Verdict
from understudy.objects.nodes import Lease

NOW = 1_800_000_000.0


def written(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def lease(name: str, renewed: float) -> Lease:
    spec = {"leaseDurationSeconds": 40, "renewTime": written(renewed)}
    metadata = {"name": name, "namespace": "kube-node-lease"}
    made = decode({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    assert isinstance(made, Lease)
    return made


def node(**annotations: str) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True"}
    metadata = {"name": "a", "annotations": {f"understudy.dev/{key}": value for key, value in annotations.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": [ready]}}


@pytest.mark.parametrize(
    ("document", "silent", "verdict", "why"),
    [
        (node(), 1.0, Verdict.HEALTHY, ""),
        (node(), 16.0, Verdict.SUSPECT, "its lease was not renewed"),
        (node(), 30.0, Verdict.LOST, "its lease has run out"),
        (node(**{"drain-deadline": "2027-01-15T08:00:00Z"}), 1.0, Verdict.LEAVING, "it is being drained"),
        (node(**{"failed-at": written(NOW - 60)}), 1.0, Verdict.HEALTHY, "failed lately: the last choice, until 2027-"),
        (
            node(**{"failed-at": ",".join(map(written, (NOW - 9, NOW - 8, NOW - 7)))}),
            1.0,
            Verdict.HEALTHY,
            "lemon node: ",
        ),
        (node(**{"failed-at": written(NOW - 6000)}), 1.0, Verdict.HEALTHY, ""),
        (
            node(fenced=f"at={written(NOW - 99)},grace=30,returned={written(NOW - 10)}"),
            1.0,
            Verdict.SUSPECT,
            "held back until 2027-01-15T08:00:50Z: pods that were force-deleted there may still run",
        ),
        (node(fenced=f"at={written(NOW - 99)},grace=30,returned={written(NOW - 60)}"), 1.0, Verdict.HEALTHY, ""),
        (node(fenced=f"at={written(NOW - 99)},grace=30"), 30.0, Verdict.LOST, "its lease has run out"),
        (node(**{"drain-deadline": "soon"}), 1.0, Verdict.SUSPECT, "Node a: metadata.annotations"),
    ],
)
def test_a_node_is_judged_by_its_signs(document: dict[str, Any], silent: float, verdict: Verdict, why: str) -> None:
    judge = NodeHealthReader({"a": lease("a", NOW - silent)}, NOW, DEFAULT_LIMITS)
    health = judge.of(document).health
    assert health.verdict is verdict
    assert health.cause.startswith(why)


@pytest.mark.parametrize(
    ("labels", "own", "capacity"),
    [
        ({}, {}, Capacity.ON_DEMAND),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, {}, Capacity.SPOT),
        ({"pool": "cheap"}, {"pool": "cheap"}, Capacity.SPOT),
    ],
)
def test_the_labels_say_which_kind_of_capacity_a_node_is(
    labels: dict[str, str], own: dict[str, str], capacity: Capacity
) -> None:
    limits = msgspec.structs.replace(DEFAULT_LIMITS, spot_labels=own)
    document = node()
    document["metadata"]["labels"] = labels
    assert NodeHealthReader({}, NOW, limits).of(document).capacity is capacity


def test_a_notice_tells_the_deadline_who_gave_it_and_why() -> None:
    document = node(notice=f"deadline={written(NOW + 25)},source=azure,cause=Preempt,at={written(NOW)}")
    health = NodeHealthReader({"a": lease("a", NOW)}, NOW, DEFAULT_LIMITS).of(document).health
    assert (health.verdict, health.cause, health.deadline) == (Verdict.LEAVING, "notice (azure Preempt)", NOW + 25)


@pytest.mark.parametrize(
    ("newest", "here", "taken"),
    [
        pytest.param(NOW, NOW + 5, NOW + 5, id="the clocks agree"),
        pytest.param(NOW, NOW + 3600, NOW, id="the clock here is ahead"),
        pytest.param(NOW, NOW - 3600, NOW, id="the clock here is behind"),
    ],
)
def test_a_clock_that_is_wrong_here_makes_no_node_sick(newest: float, here: float, taken: float) -> None:
    assert cluster_time([lease("a", newest - 8), lease("b", newest)], here) == taken


def test_the_status_says_all_there_is_to_say() -> None:
    usage = NodeUsage("a", "10.0.0.1", "<none>", False, False, False, {"nvidia.com/gpu": 8, "cpu": 1000}, ())
    one = NodeSummary(usage, NodeState(health=Health(Verdict.LOST)), "", "", "", 0.0)
    assert one.status == "NotReady,Lost,SchedulingDisabled"
    assert one.accelerators == {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    ("labels", "pool"),
    [
        ({}, ""),
        ({"node.kubernetes.io/instance-type": "a3", "cloud.google.com/gke-nodepool": "p"}, "p"),
        ({"understudy.dev/pool": "workers", "cloud.google.com/gke-nodepool": "p"}, "workers"),
    ],
)
def test_a_pool_goes_by_the_label_that_says_most(labels: dict[str, str], pool: str) -> None:
    assert first_label(labels, POOLS) == pool
