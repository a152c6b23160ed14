"""Documents 000 and 003 in a real cluster: their manifests as written, under the real JobSet controller.

Its webhooks write the exclusive placement of the leaders, and hold back the other pods until those have a node.
"""

from collections.abc import Callable
from typing import Any

from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import SLICE, Nodes, node
from tests.kube.jobs import OUT_OF_SERVICE, pod_specs, taint
from tests.kube.witness import Witness, uids
from tests.seeds import texts
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


def test_the_hot_swap_document(api: Api, nodes: Nodes, namespace: str, witness: Witness) -> None:
    documents = texts.manifests("000")
    add_pools(nodes, 5)
    for document in documents:
        api.apply(named(document) if document["kind"] == "JobSet" else document, namespace)
    low = witness.until("low runs", lambda: witness.runs("low-priority", 2))
    high = witness.until("high runs", lambda: witness.runs("high-priority", 6))
    home, [loan] = slices(witness, high), slices(witness, low)
    assert len(home) == 3

    # A node falls silent. There is a spare slice: it steps in, and the less important JobSet does not notice.
    dead = high[0].spec.node_name
    [lost] = slices(witness, [high[0]])
    nodes.die(dead)
    high = witness.until("the spare slice steps in", moved(witness, lost))
    [spare] = slices(witness, high) - home
    assert spare != loan
    assert uids(witness.pods("low-priority")) == uids(low)

    # There is none: the less important one makes room, whole.
    out = next(pod.spec.node_name for pod in high if slices(witness, [pod]) == {spare})
    taint(api, out, OUT_OF_SERVICE)
    high = witness.until("the slice of the other is taken", moved(witness, spare))
    assert loan in slices(witness, high)
    assert witness.seated("low-priority") == []

    # And comes back by itself.
    taint(api, out)
    back = witness.until("low runs again", lambda: witness.runs("low-priority", 2))
    assert slices(witness, back) == {spare}
    assert [restarts(api, namespace, name) for name in ("high-priority", "low-priority")] == [0, 0]
