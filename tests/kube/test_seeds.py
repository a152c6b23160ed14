"""Documents 000 and 003 in a real cluster: their manifests as written, under the real JobSet controller.

Its webhooks write the exclusive placement of the leader pods, and reject the other pods until the leaders have a node.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.deploy import manifests
from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import SLICE, Nodes, node
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster_observer import ClusterObserver, uids
from tests.kube.jobs import (
    CLASSES,
    ONE_GPU,
    OUT_OF_SERVICE,
    SECONDS,
    job,
    jobset,
    of_class,
    pod,
    pod_specs,
    priority_class,
    taint,
)
from tests.kube.scenario_manifests import set_priorities
from tests.seeds import texts
from tests.seeds.test_jobset_preemption import rules
from understudy.model.gangs import Suspension
from understudy.objects.pods import Pod

Document = dict[str, Any]
MACHINES = {"cloud.google.com/machine-family": "n2", "node.kubernetes.io/instance-type": "n2-standard-64"}


def named(jobset: Document) -> Document:
    """The manifest with the scheduler in its pod templates."""
    for spec in pod_specs(jobset):
        spec["schedulerName"] = "understudy"
    return jobset


def add_pools(nodes: Nodes, count: int) -> None:
    """Node pools of two nodes each, with the labels that the document asks for."""
    places = [(f"pool-{number}", f"pool-{number}-{i}") for number in range(count) for i in range(2)]
    resources = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    nodes.create([node(name, {SLICE: pool, **MACHINES}, resources) for pool, name in places])


def slices(observer: ClusterObserver, pods: list[Pod]) -> set[str]:
    return observer.domains(pods, SLICE)


def restarts(api: Api, namespace: str, name: str) -> int:
    status = api.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{name}")["status"]
    return int(status.get("restarts", 0))


def moved(observer: ClusterObserver, away_from: str) -> Callable[[], list[Pod]]:
    def seen() -> list[Pod]:
        pods = observer.runs("high-priority", 6)
        return pods if pods and away_from not in slices(observer, pods) else []

    return seen


def both_run(observer: ClusterObserver) -> tuple[list[Pod], list[Pod]]:
    low = observer.until("low runs", lambda: observer.runs("low-priority", 2))
    high = observer.until("high runs", lambda: observer.runs("high-priority", 6))
    assert [len(slices(observer, pods)) for pods in (low, high)] == [1, 3]
    return low, high


def slice_of_the_other_is_taken(api: Api, nodes: Nodes, observer: ClusterObserver, lost: Pod) -> None:
    """Without a spare, the JobSet of lower priority is preempted whole, and comes back by itself."""
    [loan], [broken] = slices(observer, observer.pods("low-priority")), slices(observer, [lost])
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)
    high = observer.until("the slice of the other is taken", moved(observer, broken))
    assert loan in slices(observer, high)
    assert observer.seated("low-priority") == []
    assert {gang.name: gang.suspension for gang in observer.gangs()}["low-priority"] is Suspension.REQUEUED

    nodes.reboot(lost.spec.node_name)
    taint(api, lost.spec.node_name)
    back = observer.until("low runs again", lambda: observer.runs("low-priority", 2))
    assert slices(observer, back) == {broken}
    assert [restarts(api, observer.namespace, name) for name in ("high-priority", "low-priority")] == [0, 0]


def test_a_spare_slice_steps_in_and_then_the_less_important_jobset_goes_whole(
    api: Api, nodes: Nodes, observer: ClusterObserver
) -> None:
    add_pools(nodes, 5)
    for document in texts.manifests("000"):
        api.apply(named(document) if document["kind"] == "JobSet" else document, observer.namespace)
    low, high = both_run(observer)
    home, [loan] = slices(observer, high), slices(observer, low)

    # A node falls silent. There is a spare slice: it steps in, and the less important JobSet does not notice.
    [lost] = slices(observer, [high[0]])
    nodes.die(high[0].spec.node_name)
    high = observer.until("the spare slice steps in", moved(observer, lost))
    [spare] = slices(observer, high) - home
    assert spare != loan
    assert uids(observer.pods("low-priority")) == uids(low)

    slice_of_the_other_is_taken(api, nodes, observer, next(pod for pod in high if slices(observer, [pod]) == {spare}))


@pytest.fixture
def opted_in(api: Api, namespace: str, opting_in: None) -> Iterator[None]:
    """Opts the whole namespace in, by the shipped policy."""
    del opting_in
    policies = manifests.documents(manifests.KUSTOMIZE / "admission" / "policy.yaml")
    api.apply_all(policies)
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"understudy.dev/schedule": "true"}}})
    probe, path = pod("probe", "default-scheduler"), f"/api/v1/namespaces/{namespace}/pods?dryRun=All"

    def is_in_force() -> bool:
        return bool(api.request("POST", path, probe)["spec"]["schedulerName"] == "understudy")

    wait_until(is_in_force, "the policy rules", SECONDS)
    yield
    for policy in policies:
        api.delete(api.path(policy))


@pytest.mark.usefixtures("opted_in")
def test_manifests_as_they_are_in_a_namespace_that_is_opted_in(
    api: Api, nodes: Nodes, observer: ClusterObserver
) -> None:
    add_pools(nodes, 4)
    api.apply_all(texts.manifests("000"), observer.namespace)
    _, high = both_run(observer)
    slice_of_the_other_is_taken(api, nodes, observer, high[0])


# Document 003


def add_racks(nodes: Nodes, count: int) -> None:
    places = [(f"rack-{number}", f"rack-{number}-{i}") for number in range(count) for i in range(2)]
    nodes.create([node(name, {"rack": rack}, ONE_GPU) for rack, name in places])


def exclusive(name: str, priority: str) -> Document:
    """A Job of two pods with the rule of the document, which names `my-job`."""
    made = of_class(priority, job(name, size=2))
    made["spec"]["template"]["spec"]["affinity"] = yaml.safe_load(rules()[0].replace("my-job", name))
    return made


def shared_racks(observer: ClusterObserver) -> Iterator[str]:
    there: dict[str, set[str]] = {}
    for one in observer.all_pods():
        if one.spec.node_name:
            rack = observer.nodes[one.spec.node_name].metadata.labels["rack"]
            there.setdefault(rack, set()).add(one.metadata.labels["job-name"])
    yield from (f"{rack} is shared by {sorted(jobs)}" for rack, jobs in there.items() if len(jobs) > 1)


def test_an_island_changes_hands_by_the_rule_of_the_document(api: Api, nodes: Nodes, observer: ClusterObserver) -> None:
    observer.more_rules.append(lambda: shared_racks(observer))
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], observer.namespace)
    add_racks(nodes, 2)
    for name in ("first", "second"):
        api.create(exclusive(name, "low"), observer.namespace)
        observer.until(f"{name} runs", lambda name=name: observer.runs(name, 2))  # type: ignore[misc]
    before = {name: uids(observer.pods(name)) for name in ("first", "second")}

    high = api.create(exclusive("my-job", "high"), observer.namespace)
    observer.until("my-job runs", lambda: observer.runs("my-job", 2))
    [gone] = [name for name in before if not observer.seated(name)]
    [other] = before.keys() - {gone}
    assert uids(observer.pods(other)) == before[other]

    api.request("DELETE", api.path(high, observer.namespace), {"propagationPolicy": "Background"})
    observer.until("it runs again", lambda: observer.runs(gone, 2))
    assert uids(observer.pods(other)) == before[other]


def test_the_three_steps_of_the_document(api: Api, nodes: Nodes, observer: ClusterObserver) -> None:
    """The JobSet of low priority runs; the leaders of the high one find nodes in spite of their anti-affinity."""
    observer.more_rules.append(lambda: shared_racks(observer))
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], observer.namespace)
    add_racks(nodes, 3)
    low, high = (of_class(name, jobset(name, replicas=slices)) for name, slices in (("low", 3), ("high", 2)))
    for document in (low, high):
        document["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    api.create(low, observer.namespace)
    observer.until("low runs", lambda: observer.runs("low", 6))
    api.create(high, observer.namespace)
    pods = observer.until("high runs", lambda: observer.runs("high", 4))
    assert len(observer.domains(pods, "rack")) == 2
    observer.until("low has left, whole", lambda: not observer.pods("low"))
    api.delete(api.path(high, observer.namespace))
    observer.until("low runs again", lambda: observer.runs("low", 6))
    assert restarts(api, observer.namespace, "low") == 0
