"""Which pods of a node have to leave, and which of those have no controller."""

import pytest

from tests.objects.documents import owner, pod
from understudy.cli.verbs.node.drain import MIRROR, pod_names, sort_pods
from understudy.kinds.decoding import decode
from understudy.objects.pods import Pod


def made(name: str, meta: dict[str, object] | None = None, phase: str = "Running") -> Pod:
    found = decode({**pod(name, "a", meta or {}), "status": {"phase": phase}})
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    ("one", "where"),
    [
        (made("of-a-job", {"ownerReferences": owner("Job", "j")}), {"leaving"}),
        (made("of-a-daemon", {"ownerReferences": owner("DaemonSet", "d")}), {"staying"}),
        (made("of-a-file", {"annotations": {MIRROR: "x"}}), {"staying"}),
        (made("bare"), {"leaving", "bare"}),
        (made("bare-and-done", phase="Succeeded"), {"leaving"}),
    ],
)
def test_pods_are_told_apart(one: Pod, where: set[str]) -> None:
    found = sort_pods([one])
    groups = {"leaving": found.leaving, "bare": found.bare, "staying": found.staying}
    assert {group for group, pods in groups.items() if pods} == where


def test_pods_are_named_in_order() -> None:
    assert pod_names([made("b"), made("a")]) == ["default/a", "default/b"]
