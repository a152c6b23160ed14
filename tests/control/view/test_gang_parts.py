"""Pods that are seen before their job: none is seated until the size of the gang is known."""

from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import MADE_AT, job, owner, pod
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_leases import LeaseClock
from understudy.kinds.decoding import decode
from understudy.model.gangs import Gang

LAG = 30.0
JOB = decode(job("j", completionMode="Indexed", completions=4, parallelism=4))


class Seen:
    """Job j of four pods, by and by."""

    def __init__(self, lag: float = LAG) -> None:
        self.clock = VirtualClock(MADE_AT)
        watched = WatchedCluster(LeaseClock(self.clock), job_lag=lag)
        self.view = ClusterView(invalid_objects=InvalidObjects(), watched=watched)

    def pod(self, index: int, node: str = "", owned: bool = False) -> None:
        labels = {"job-name": "j", "batch.kubernetes.io/job-completion-index": str(index)}
        owners = owner("Job", "j") if owned else []
        self.view.put(decode(pod(f"j-{index}-x", node, {"labels": labels, "ownerReferences": owners})))

    def gang(self) -> Gang:
        return self.view.snapshot(self.clock.now()).gangs["Job/default/j"]


def test_the_first_pods_are_not_taken_for_the_gang() -> None:
    seen = Seen()
    seen.pod(0)
    assert seen.gang().awaits == ("Job default/j has not been seen, only pods of it",)
    seen.pod(1)
    assert seen.gang().awaits
    seen.view.put(JOB)
    assert seen.gang().awaits == ()
    assert seen.gang().size == 4
    assert seen.view.next_look() is None


def test_a_job_that_must_have_been_seen_by_now_is_not_there() -> None:
    seen = Seen()
    seen.pod(0)
    assert seen.gang().awaits
    assert seen.view.next_look() == MADE_AT + LAG
    seen.clock.jump(LAG)
    assert seen.gang().awaits == ()
    assert seen.view.next_look() is None
    seen.pod(1)
    assert seen.gang().awaits == ()


def test_pods_that_are_owned_by_a_job_that_is_not_there_are_never_a_gang_of_their_own() -> None:
    seen = Seen()
    seen.pod(0, owned=True)
    seen.clock.jump(1000 * LAG)
    assert seen.gang().awaits
    assert seen.view.next_look() is None
    seen.view.put(JOB)
    assert seen.gang().awaits == ()
    seen.view.remove(JOB)
    assert seen.gang().awaits  # what is left of it is being collected


def test_seated_pods_stay_a_gang_when_their_job_is_deleted() -> None:
    seen = Seen()
    seen.view.put(JOB)
    seen.pod(0, "n")
    assert seen.gang().awaits == ()
    seen.view.remove(JOB)
    assert seen.gang().awaits == ()


def test_a_gang_that_has_gone_is_waited_for_anew() -> None:
    seen = Seen()
    seen.pod(0)
    assert seen.gang().awaits
    for each in list(seen.view.pods()):
        seen.view.remove(each)
    assert not seen.view.snapshot(seen.clock.now()).gangs
    assert seen.view.next_look() is None
    seen.clock.jump(LAG)
    seen.pod(0)
    assert seen.gang().awaits


def test_where_all_kinds_are_seen_in_order_pods_do_not_wait_for_their_job() -> None:
    seen = Seen(lag=0.0)
    seen.pod(0)
    assert seen.gang().awaits == ()
