"""The monitor of stories on real clusters sees gangs that sit or start in part, at any time and not only at the end."""

import time
from typing import Any, cast

import msgspec
import pytest

from tests.embedded import cluster_monitor
from tests.embedded.cluster_monitor import LONGEST_SWAP, ClusterMonitor, is_partly_seated
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang, Island, Member, Shape
from understudy.objects.resources import JOBS, PODS, Resource
from understudy.ports import Change, ChangeType, Cluster

Document = dict[str, Any]
JOB = {"batch.kubernetes.io/job-name": "train"}


class Told:
    """A cluster of which a test tells the changes."""

    def __init__(self) -> None:
        self.monitor = ClusterMonitor(cast("Cluster", self), (), Policy())

    def tell(self, resource: Resource, document: Document) -> None:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
        self.monitor.hear(resource, Change(ChangeType.MODIFIED, msgspec.json.encode(body)))

    def synced(self) -> "Told":
        for resource in cluster_monitor.FOLLOWED:
            self.monitor.hear(resource, Change(ChangeType.SYNCED))
        return self

    def job(self, revision: int, holds: str = "") -> None:
        notes = {"understudy.dev/holds": holds} if holds else {}
        meta = {"name": "train", "namespace": "default", "uid": "job", "resourceVersion": str(revision)}
        pod = {"spec": {"containers": [{"name": "main"}]}}
        spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": pod}
        self.tell(JOBS, {"metadata": {**meta, "annotations": notes}, "spec": spec})

    def pod(self, revision: int, index: int, node: str = "", *, runs: bool = False) -> None:
        labels = {**JOB, "batch.kubernetes.io/job-completion-index": str(index)}
        meta = {"name": f"train-{index}-x", "namespace": "default", "uid": f"uid-{index}", "labels": labels}
        states = [{"name": "main", "state": {"running": {}}}] if runs else []
        status = {"phase": "Running" if runs else "Pending", "containerStatuses": states}
        spec = {"containers": [{"name": "main"}], "nodeName": node}
        self.tell(PODS, {"metadata": {**meta, "resourceVersion": str(revision)}, "spec": spec, "status": status})


@pytest.fixture
def told() -> Told:
    found = Told().synced()
    found.job(1)
    return found


def test_a_gang_that_starts_in_part_is_told_though_it_is_whole_in_the_end(told: Told) -> None:
    told.pod(2, 0, "a")
    told.pod(3, 0, "a", runs=True)
    told.pod(4, 1, "b", runs=True)
    [words] = told.monitor.partial_starts()
    assert words.startswith("train: pod uid-0 ran at revision 3 with seats for 1 of 2 members")


def test_a_gang_that_starts_whole_is_not(told: Told) -> None:
    told.pod(2, 0, "a")
    told.pod(3, 1, "b")
    told.pod(4, 0, "a", runs=True)
    told.pod(5, 1, "b", runs=True)
    assert told.monitor.partial_starts() == []


def test_only_a_hold_for_the_missing_member_excuses_a_start(told: Told) -> None:
    told.job(2, holds="train-0=a")
    told.pod(3, 0, "a")
    told.pod(4, 0, "a", runs=True)
    assert len(told.monitor.partial_starts()) == 1
    told.job(2, holds="train-1=b")
    assert told.monitor.partial_starts() == []


def test_a_gang_that_sits_in_part_for_long_is_told_though_it_is_whole_in_the_end(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    told.pod(2, 0, "a")
    told.pod(3, 1)
    clock[0] += LONGEST_SWAP + 1.0
    told.pod(4, 1)
    told.pod(5, 1, "b")
    assert told.monitor.wrong == [
        f"Job default/train has had seats for some members only, for more than {LONGEST_SWAP:g} s"
    ]


def test_a_gang_is_partly_seated_unless_all_it_lacks_is_held() -> None:
    members = (Member("a", Shape(), node="n0"), Member("b", Shape()), Member("c", Shape()))
    gang = Gang("Job/default/train", "Job", "default", "train", islands=(Island("train", members),))
    held = [(), (("b", "n1"),), (("b", "n1"), ("c", "n1"))]
    assert [is_partly_seated(msgspec.structs.replace(gang, holds=holds)) for holds in held] == [True, True, False]
    assert not is_partly_seated(msgspec.structs.replace(gang, min_members=1))
