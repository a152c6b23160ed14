"""Documents 000 and 003 in a real cluster: their manifests as written, under the real JobSet controller.

Its webhooks write the exclusive placement of the leaders, and hold back the other pods until those have a node.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.deploy import manifests
from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import SLICE, Nodes, node
from tests.kube.cluster.processes import wait_until
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
from tests.kube.scenery import set_priorities
from tests.kube.witness import Witness, uids
from tests.seeds import texts
from tests.seeds.test_jobset_preemption import rules
from understudy.model.gangs import Suspension
from understudy.objects.pods import Pod

Document = dict[str, Any]
MACHINES = {"cloud.google.com/machine-family": "n2", "node.kubernetes.io/instance-type": "n2-standard-64"}


def named(jobset: Document) -> Document:
    """With the scheduler in its pod templates."""
    for spec in pod_specs(jobset):
        spec["schedulerName"] = "understudy"
    return jobset


def add_pools(nodes: Nodes, count: int) -> None:
    """Of two machines each, of the kind that the document asks for."""
    places = [(f"pool-{number}", f"pool-{number}-{i}") for number in range(count) for i in range(2)]
    resources = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    nodes.create([node(name, {SLICE: pool, **MACHINES}, resources) for pool, name in places])


def slices(witness: Witness, pods: list[Pod]) -> set[str]:
    return witness.domains(pods, SLICE)


def restarts(api: Api, namespace: str, name: str) -> int:
    status = api.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{name}")["status"]
    return int(status.get("restarts", 0))


def moved(witness: Witness, away_from: str) -> Callable[[], list[Pod]]:
    def seen() -> list[Pod]:
        pods = witness.runs("high-priority", 6)
        return pods if pods and away_from not in slices(witness, pods) else []

    return seen


def both_run(witness: Witness) -> tuple[list[Pod], list[Pod]]:
    low = witness.until("low runs", lambda: witness.runs("low-priority", 2))
    high = witness.until("high runs", lambda: witness.runs("high-priority", 6))
    assert [len(slices(witness, pods)) for pods in (low, high)] == [1, 3]
    return low, high


def slice_of_the_other_is_taken(api: Api, nodes: Nodes, witness: Witness, lost: Pod) -> None:
    """There is no spare: the less important one makes room, whole, and comes back by itself."""
    [loan], [broken] = slices(witness, witness.pods("low-priority")), slices(witness, [lost])
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)
    high = witness.until("the slice of the other is taken", moved(witness, broken))
    assert loan in slices(witness, high)
    assert witness.seated("low-priority") == []
    assert {gang.name: gang.suspension for gang in witness.gangs()}["low-priority"] is Suspension.REQUEUED

    nodes.reboot(lost.spec.node_name)
    taint(api, lost.spec.node_name)
    back = witness.until("low runs again", lambda: witness.runs("low-priority", 2))
    assert slices(witness, back) == {broken}
    assert [restarts(api, witness.namespace, name) for name in ("high-priority", "low-priority")] == [0, 0]


def test_a_spare_slice_steps_in_and_then_the_less_important_jobset_goes_whole(
    api: Api, nodes: Nodes, witness: Witness
) -> None:
    add_pools(nodes, 5)
    for document in texts.manifests("000"):
        api.apply(named(document) if document["kind"] == "JobSet" else document, witness.namespace)
    low, high = both_run(witness)
    home, [loan] = slices(witness, high), slices(witness, low)

    # A node falls silent. There is a spare slice: it steps in, and the less important JobSet does not notice.
    [lost] = slices(witness, [high[0]])
    nodes.die(high[0].spec.node_name)
    high = witness.until("the spare slice steps in", moved(witness, lost))
    [spare] = slices(witness, high) - home
    assert spare != loan
    assert uids(witness.pods("low-priority")) == uids(low)

    slice_of_the_other_is_taken(api, nodes, witness, next(pod for pod in high if slices(witness, [pod]) == {spare}))


@pytest.fixture
def opted_in(api: Api, namespace: str, opting_in: None) -> Iterator[None]:
    """The namespace, as a whole, by the policy that is shipped."""
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
def test_manifests_as_they_are_in_a_namespace_that_is_opted_in(api: Api, nodes: Nodes, witness: Witness) -> None:
    add_pools(nodes, 4)
    api.apply_all(texts.manifests("000"), witness.namespace)
    _, high = both_run(witness)
    slice_of_the_other_is_taken(api, nodes, witness, high[0])


# Document 003


def add_racks(nodes: Nodes, count: int) -> None:
    places = [(f"rack-{number}", f"rack-{number}-{i}") for number in range(count) for i in range(2)]
    nodes.create([node(name, {"rack": rack}, ONE_GPU) for rack, name in places])


def exclusive(name: str, priority: str) -> Document:
    """A Job of two pods with the rule of the document, which names `my-job`."""
    made = of_class(priority, job(name, size=2))
    made["spec"]["template"]["spec"]["affinity"] = yaml.safe_load(rules()[0].replace("my-job", name))
    return made


def shared_racks(witness: Witness) -> Iterator[str]:
    there: dict[str, set[str]] = {}
    for one in witness.everybody():
        if one.spec.node_name:
            rack = witness.nodes[one.spec.node_name].metadata.labels["rack"]
            there.setdefault(rack, set()).add(one.metadata.labels["job-name"])
    yield from (f"{rack} is shared by {sorted(jobs)}" for rack, jobs in there.items() if len(jobs) > 1)


def test_an_island_changes_hands_by_the_rule_of_the_document(api: Api, nodes: Nodes, witness: Witness) -> None:
    witness.more_rules.append(lambda: shared_racks(witness))
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], witness.namespace)
    add_racks(nodes, 2)
    for name in ("first", "second"):
        api.create(exclusive(name, "low"), witness.namespace)
        witness.until(f"{name} runs", lambda name=name: witness.runs(name, 2))  # type: ignore[misc]
    before = {name: uids(witness.pods(name)) for name in ("first", "second")}

    high = api.create(exclusive("my-job", "high"), witness.namespace)
    witness.until("my-job runs", lambda: witness.runs("my-job", 2))
    [gone] = [name for name in before if not witness.seated(name)]
    [other] = before.keys() - {gone}
    assert uids(witness.pods(other)) == before[other]

    api.request("DELETE", api.path(high, witness.namespace), {"propagationPolicy": "Background"})
    witness.until("it runs again", lambda: witness.runs(gone, 2))
    assert uids(witness.pods(other)) == before[other]


def test_the_three_steps_of_the_document(api: Api, nodes: Nodes, witness: Witness) -> None:
    """The low JobSet runs, the high one comes, and its leaders find places, whatever their anti-affinity says."""
    witness.more_rules.append(lambda: shared_racks(witness))
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], witness.namespace)
    add_racks(nodes, 3)
    low, high = (of_class(name, jobset(name, replicas=slices)) for name, slices in (("low", 3), ("high", 2)))
    for document in (low, high):
        document["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    api.create(low, witness.namespace)
    witness.until("low runs", lambda: witness.runs("low", 6))
    api.create(high, witness.namespace)
    pods = witness.until("high runs", lambda: witness.runs("high", 4))
    assert len(witness.domains(pods, "rack")) == 2
    witness.until("low has left, whole", lambda: not witness.pods("low"))
    api.delete(api.path(high, witness.namespace))
    witness.until("low runs again", lambda: witness.runs("low", 6))
    assert restarts(api, witness.namespace, "low") == 0
