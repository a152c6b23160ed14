"""A huge gang that waits costs little while its pods come and go one by one, and plans see it as it is."""

from collections.abc import Iterator

import pytest

from tests.objects.documents import Document, owner, pod, training_job
from understudy.control.view import forming_pause, gang_index
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.decoding import decode
from understudy.kinds.gangs.job_gang import gang_of, gang_of_jobless_pods
from understudy.model.gangs import Gang

NOW, STEP = 1000.0, 0.001  # a pod a millisecond
COUNT = 600
KEY = "PyTorchJob/default/train"


def job_of(count: int = COUNT) -> Document:
    return training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": count})


def pod_of(number: int, node: str = "") -> Document:
    labels = {
        "training.kubeflow.org/job-name": "train",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": str(number),
    }
    owners = [{**owner("PyTorchJob", "train")[0], "apiVersion": "kubeflow.org/v1"}]
    return pod(f"train-worker-{number}", node, meta={"labels": labels, "ownerReferences": owners})


@pytest.fixture
def formings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each time that a gang is formed."""
    calls: list[str] = []
    for name, form in (("gang_of", gang_of), ("gang_of_jobless_pods", gang_of_jobless_pods)):

        def counted(*arguments: object, form: object = form, name: str = name) -> Gang | None:
            calls.append(name)
            return form(*arguments)  # type: ignore[operator, no-any-return]

        monkeypatch.setattr(gang_index, name, counted)
    return calls


def moments(start: float = NOW) -> Iterator[float]:
    while True:
        start += STEP
        yield start


def members(view: ClusterView, now: float) -> int:
    gang = view.snapshot(now).gangs.get(KEY)
    return 0 if gang is None else sum(member.exists for member in gang.members())


def put(view: ClusterView, document: Document) -> None:
    view.put(decode(document))


def test_pods_that_come_one_by_one_cost_few_formings(formings: list[str]) -> None:
    view, times = ClusterView(), moments()
    put(view, job_of())
    view.snapshot(NOW)
    for number in range(COUNT):
        put(view, pod_of(number))
        now = next(times)
        view.snapshot(now)
    assert members(view, now) == COUNT
    assert len(formings) <= 2 + COUNT * STEP / (COUNT * forming_pause.PER_MEMBER)


def test_pods_without_a_job_that_go_one_by_one_cost_few_formings(formings: list[str]) -> None:
    view, times = ClusterView(), moments()
    pods = [decode(pod_of(number)) for number in range(COUNT)]
    job = decode(job_of())
    for each in (job, *pods):
        view.put(each)
    view.snapshot(NOW)
    view.remove(job)
    view.snapshot(next(times))
    del formings[:]
    for each in pods:
        view.remove(each)
        now = next(times)
        view.snapshot(now)
    assert KEY not in view.snapshot(now).gangs
    assert len(formings) <= forming_pause.LARGE + 10  # what is left of it is not large any more


def test_a_change_that_is_left_out_is_announced_and_comes_by_itself() -> None:
    view = ClusterView()
    put(view, job_of())
    view.snapshot(NOW)
    put(view, pod_of(0))
    changed = view.has_changed
    assert members(view, NOW + STEP) == 0
    assert (changed, view.has_changed) == (True, False)  # a loop that is woken has no reason to go on at once
    due = view.next_look()
    assert due == NOW + COUNT * forming_pause.PER_MEMBER
    assert members(view, due) == 1
    assert view.next_look() is None


def test_a_gang_of_which_changes_are_left_out_catches_up_when_asked() -> None:
    view = ClusterView()
    put(view, job_of())
    view.snapshot(NOW)
    put(view, pod_of(0))
    assert members(view, NOW + STEP) == 0
    assert view.catch_up([KEY, "PyTorchJob/default/other"])
    assert members(view, NOW + STEP) == 1
    assert not view.catch_up([KEY])


@pytest.mark.parametrize("count", [forming_pause.LARGE - 1, forming_pause.LARGE])
def test_only_large_gangs_are_left_out(count: int) -> None:
    view = ClusterView()
    put(view, job_of(count))
    view.snapshot(NOW)
    put(view, pod_of(0))
    assert members(view, NOW + STEP) == (count < forming_pause.LARGE)


def test_a_pod_that_gets_a_seat_is_seen_at_once() -> None:
    view = ClusterView()
    for document in (job_of(), pod_of(0)):
        put(view, document)
    view.snapshot(NOW)
    put(view, pod_of(0, node="a"))
    gang = view.snapshot(NOW + STEP).gangs[KEY]
    assert [member.node for member in gang.seated()] == ["a"]
    put(view, pod_of(1))
    assert members(view, NOW + 2 * STEP) == 2  # a gang with seats is never left out


def test_a_job_that_changes_is_seen_at_once() -> None:
    view = ClusterView()
    put(view, job_of())
    view.snapshot(NOW)
    put(view, pod_of(0))
    put(view, job_of(COUNT + 1))
    gang = view.snapshot(NOW + STEP).gangs[KEY]
    assert (gang.size, members(view, NOW + STEP)) == (COUNT + 1, 1)
