"""PodDisruptionBudgets: what their status says, else what the pods say."""

from typing import Any

import pytest

from tests.objects.documents import Document, metadata, pod
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.decoding import decode
from understudy.model.snapshot import Budget


def budget(name: str = "b", status: Document | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name),
        "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec},
        "status": status or {},
    }


def pods() -> list[Document]:
    """Four that match and are not finished, of which three have a seat; and others that do not count."""
    labels = {"labels": {"app": "x"}}
    running = [pod(f"p{i}", "n", labels) for i in range(3)]
    return [
        *running,
        pod("pending", "", labels),
        pod("done", "n", labels, {"phase": "Succeeded"}),
        pod("other", "n", {"labels": {"app": "y"}}),
        pod("elsewhere", "n", {**labels, "namespace": "other"}),
    ]


def budgets(*documents: Document) -> tuple[Budget, ...]:
    view = ClusterView()
    for document in documents:
        view.put(decode(document))
    return view.snapshot(0.0).budgets


@pytest.mark.parametrize(
    ("spec", "status", "allowed"),
    [
        ({"minAvailable": 1}, {"disruptionsAllowed": 7}, 7),
        ({"minAvailable": 1}, {"disruptionsAllowed": 0}, 0),
        ({"minAvailable": 1}, None, 2),
        ({"minAvailable": 9}, None, 0),
        ({"minAvailable": "50%"}, None, 1),
        ({"minAvailable": "51%"}, None, 0),
        ({"maxUnavailable": 2}, None, 1),
        ({"maxUnavailable": "100%"}, None, 3),
        ({"maxUnavailable": "50%"}, None, 1),
        ({}, None, 3),
    ],
)
def test_how_many_more_may_go(spec: Document, status: Document | None, allowed: int) -> None:
    (found,) = budgets(*pods(), budget(status=status, **spec))
    assert (found.name, found.namespace, found.allowed) == ("b", "default", allowed)


def test_budgets_are_sorted_and_can_go() -> None:
    assert [b.name for b in budgets(budget("b"), budget("a"))] == ["a", "b"]
    view = ClusterView()
    view.put(decode(budget()))
    before = view.snapshot(0.0)
    assert view.snapshot(0.0) is before
    view.remove(decode(budget()))
    assert view.snapshot(0.0).budgets == ()


def test_counted_budgets_follow_the_pods() -> None:
    view = ClusterView()
    for document in (budget(minAvailable=1), *pods()):
        view.put(decode(document))
    assert view.snapshot(0.0).budgets[0].allowed == 2
    view.remove(decode(pods()[0]))
    assert view.snapshot(0.0).budgets[0].allowed == 1
