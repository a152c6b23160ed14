"""The state of the demo: which process runs where, without those on lost nodes, and what has changed."""

from typing import Any

from tests.objects.documents import MADE, MADE_AT, Document, jobset, jobset_pod, node, replicated_job
from understudy.cli.demo.state import DemoState, demo_state, state_changes
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.decoding import decode

JOB = "JobSet/default/j"
SILENT = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": MADE}]


def member(index: int, on: str = "", **meta: Any) -> Document:
    return jobset_pod("j", "job", 0, index, on, meta={"uid": f"uid-{index}-{on}", **meta})


def seen(*documents: Document) -> DemoState:
    view = ClusterView()
    for document in (node("a"), node("b"), jobset("j", replicated_job("job", 1, 2)), *documents):
        view.put(decode(document))
    return demo_state(view.snapshot(MADE_AT), {JOB: view.pods_of(JOB)})


def test_a_job_is_complete_when_all_its_processes_run() -> None:
    assert not seen().complete(JOB)
    assert not seen(member(0, "a"), member(1)).complete(JOB)
    assert seen(member(0, "a"), member(1, "b")).complete(JOB)


def test_a_process_that_is_told_to_leave_does_not_count() -> None:
    state = seen(member(0, "a"), member(1, "b", deletionTimestamp=MADE))
    assert [each.name for each in state.of(JOB)] == ["j-job-0-0"]


def test_a_process_on_a_lost_node_does_not_count() -> None:
    state = seen(member(0, "a"), member(1, "b"), node("b", conditions=SILENT))
    assert state.lost == {"b": "not ready: NodeStatusUnknown"}
    assert [each.node for each in state.of(JOB)] == ["a"]


def test_what_changes_is_told_in_order() -> None:
    before = seen(member(0, "a"), member(1, "b"))
    broken = seen(member(0, "a"), member(1, "b"), node("b", conditions=SILENT))
    recovery = seen(member(0, "a"), member(1, "a"), node("b", conditions=SILENT))
    assert list(state_changes(before, broken)) == ["b is lost: not ready: NodeStatusUnknown"]
    assert list(state_changes(broken, recovery)) == ["j-job-0-1 is taken off b", "j-job-0-1 runs on a"]
    assert list(state_changes(recovery, seen(member(0, "a"), member(1, "a")))) == ["b is back"]
    assert list(state_changes(recovery, recovery)) == []
