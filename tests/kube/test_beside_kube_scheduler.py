"""Two schedulers in one cluster: each places its own pods, and Understudy plans around those of kube-scheduler."""

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster_observer import ClusterObserver
from tests.kube.jobs import (
    CLASSES,
    ONE_GPU,
    SECONDS,
    job,
    of_class,
    pod,
    priority_class,
    pytorchjob,
    wait_for_phase,
)

TWO_GPUS = {**ONE_GPU, "nvidia.com/gpu": "2"}


def of_the_other(name: str, priority: str) -> Object:
    made = pod(name, "default-scheduler")
    made["spec"]["priorityClassName"] = priority
    return made


def seated_by(api: Api, namespace: str) -> dict[str, str]:
    """The schedulers that bound the pods, by their events."""
    events = api.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    told = [event for event in events if event["reason"] == "Scheduled"]
    return {event["regarding"]["name"]: event["reportingController"] for event in told}


def waits(api: Api, namespace: str, name: str) -> str:
    """The reasons that Understudy writes on the pods of a waiting job."""
    pods = api.items(f"/api/v1/namespaces/{namespace}/pods?labelSelector=batch.kubernetes.io/job-name%3D{name}")
    conditions = [condition for one in pods for condition in one["status"].get("conditions", ())]
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled" and one.get("message")), "")


def test_what_the_other_has_given_away_is_counted_and_never_taken(
    api: Api, nodes: Nodes, observer: ClusterObserver
) -> None:
    """A gang of higher priority does not take it either."""
    namespace = observer.namespace
    api.apply_all(priority_class(name, value) for name, value in CLASSES)
    nodes.add("a", "b", resources=TWO_GPUS)
    for name in ("one", "two", "three"):
        api.create(of_the_other(name, "low"), namespace)
    observer.until(
        "the other has seated three", lambda: all(observer.runs(name, 1) for name in ("one", "two", "three"))
    )

    api.create(of_class("high", job("gang", size=2)), namespace)
    wait_until(lambda: "room for 1 of 2 pods" in waits(api, namespace, "gang"), "the gang waits", SECONDS)
    assert observer.seated("gang") == []
    api.delete(f"/api/v1/namespaces/{namespace}/pods/one")
    gang = observer.until("the gang runs", lambda: observer.runs("gang", 2))

    api.create(of_the_other("late", "low"), namespace)
    wait_until(lambda: "Insufficient nvidia.com/gpu" in _said(api, namespace, "late"), "the other sees it", SECONDS)
    wait_until(lambda: len(seated_by(api, namespace)) == 5, "all is told", SECONDS)
    ours = {one.metadata.name for one in gang}
    assert {name for name, by in seated_by(api, namespace).items() if by == "understudy.dev/scheduler"} == ours


def _said(api: Api, namespace: str, name: str) -> str:
    conditions = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"].get("conditions", ())
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def test_a_gang_that_loses_a_seat_to_the_other_leaves_whole_and_comes_back(
    api: Api, nodes: Nodes, observer: ClusterObserver
) -> None:
    """kube-scheduler preempts single pods, whichever scheduler bound them. The room that it made is left to it."""
    api.apply_all(priority_class(name, value) for name, value in CLASSES)
    nodes.add("a", "b", "c", resources=ONE_GPU)
    api.create(of_class("low", pytorchjob("gang", workers=2)), observer.namespace)
    observer.until("the gang runs", lambda: observer.runs("gang", 3))
    api.create(of_the_other("intruder", "high"), observer.namespace)
    wait_for_phase(api, observer.namespace, "intruder", "Running")
    observer.until("the gang has left", lambda: not observer.pods("gang"))
    api.delete(f"/api/v1/namespaces/{observer.namespace}/pods/intruder")
    observer.until("the gang runs again", lambda: observer.runs("gang", 3))
