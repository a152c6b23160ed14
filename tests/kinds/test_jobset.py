"""JobSets into gangs: child Jobs as islands, exclusive placement with and without what JobSet injects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kinds.gangs import CLASSES, context_of, gang, layout, made
from tests.objects.documents import Document, jobset, jobset_pod, priority_class, replicated_job
from understudy.kinds.pod_labels import EXCLUSIVE, NODE_SELECTOR
from understudy.model.gangs import Gang, HostPort, Topology, TopologyMode
from understudy.model.nodes import Toleration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
JOB_KEY = "jobset.sigs.k8s.io/job-key"
POOL = "cloud.google.com/gke-nodepool"
OWNED = Topology(POOL, TopologyMode.EXCLUSIVE)


def topologies(found: Gang) -> dict[str, Topology | None]:
    return {island.name: island.topology for island in found.islands}


def test_child_jobs_are_islands() -> None:
    found = gang(jobset("js", replicated_job("driver", 1, 1), replicated_job("w", 2, 2)))
    assert found.key == "JobSet/default/js"
    assert layout(found) == {
        "js-driver-0": ["js-driver-0-0"],
        "js-w-0": ["js-w-0-0", "js-w-0-1"],
        "js-w-1": ["js-w-1-0", "js-w-1-1"],
    }
    assert set(topologies(found).values()) == {None}


def test_members_carry_the_labels_they_will_have() -> None:
    labels = next(gang(jobset("js", replicated_job("w", 1, 1))).members()).labels
    assert labels["jobset.sigs.k8s.io/jobset-name"] == "js"
    assert labels["jobset.sigs.k8s.io/replicatedjob-name"] == "w"
    assert labels["jobset.sigs.k8s.io/job-index"] == "0"
    assert labels["batch.kubernetes.io/job-completion-index"] == "0"
    assert labels[JOB_KEY] == "4ff81fd931645b5111ec7c7532e38adf82a24c26"  # sha1 of default/js-w-0


def test_exclusive_topology_of_the_jobset_and_of_a_replicated_job() -> None:
    jobs = (replicated_job("a", 1, 1), replicated_job("b", 1, 1, {"annotations": {EXCLUSIVE: "rack"}}))
    found = gang(jobset("js", *jobs, meta={"annotations": {EXCLUSIVE: POOL}}))
    assert topologies(found) == {"js-a-0": OWNED, "js-b-0": Topology("rack", TopologyMode.EXCLUSIVE)}
    only_one = gang(jobset("js", *jobs))
    assert topologies(only_one) == {"js-a-0": None, "js-b-0": Topology("rack", TopologyMode.EXCLUSIVE)}


def test_our_own_annotation_makes_an_island_of_each_child_job() -> None:
    found = gang(
        jobset("js", replicated_job("w", 2, 2), meta={"annotations": {"understudy.dev/required-topology": "rack"}})
    )
    assert list(topologies(found).values()) == [Topology("rack", TopologyMode.REQUIRED)] * 2


def test_the_node_selector_strategy_is_a_selector_and_a_toleration() -> None:
    found = gang(
        jobset("js", replicated_job("w", 2, 1), meta={"annotations": {EXCLUSIVE: POOL, NODE_SELECTOR: "true"}})
    )
    assert set(topologies(found).values()) == {None}
    shapes = [member.shape for member in found.members()]
    label = "alpha.jobset.sigs.k8s.io/namespaced-job"
    assert [shape.selector for shape in shapes] == [((label, "default_js-w-0"),), ((label, "default_js-w-1"),)]
    tolerated = Toleration("alpha.jobset.sigs.k8s.io/no-schedule", "Exists", "", "NoSchedule")
    assert all(shape.tolerations == (tolerated,) for shape in shapes)


def injected(key: str) -> Document:
    """The terms JobSet's webhook adds to a leader."""
    own = {"key": JOB_KEY, "operator": "In", "values": [key]}
    others = [
        {"key": JOB_KEY, "operator": "Exists"},
        {"key": JOB_KEY, "operator": "NotIn", "values": [key]},
        {"key": "jobset.sigs.k8s.io/priority", "operator": "In", "values": ["1000"]},
    ]
    near = {"labelSelector": {"matchExpressions": [own]}, "topologyKey": POOL, "namespaceSelector": {}}
    far = {"labelSelector": {"matchExpressions": others}, "topologyKey": POOL, "namespaceSelector": {}}
    return {"podAffinity": {REQUIRED: [near]}, "podAntiAffinity": {REQUIRED: [far]}}


def exclusive_pods(**leader: Any) -> list[Document]:
    meta = {"annotations": {EXCLUSIVE: POOL}}
    pods = [
        jobset_pod("js", "w", 0, 0, "n0", affinity=injected("k0"), **leader),
        jobset_pod("js", "w", 0, 1, "n1", nodeSelector={POOL: "a"}),
        jobset_pod("js", "w", 1, 0, "m0", affinity=injected("k1"), **leader),
        jobset_pod("js", "w", 1, 1, "m1", nodeSelector={POOL: "b"}),
    ]
    for pod in pods:
        pod["metadata"] |= meta
    return pods


def test_what_jobset_injects_is_left_off() -> None:
    document = jobset("js", replicated_job("w", 2, 2), meta={"annotations": {EXCLUSIVE: POOL}})
    found = gang(document, exclusive_pods())
    shapes = {id(member.shape): member.shape for member in found.members()}
    assert len(shapes) == 1  # leaders and followers are alike again
    (shape,) = shapes.values()
    assert (shape.affinity, shape.anti_affinity, shape.selector) == ((), (), ())


def test_a_users_own_choice_of_pool_is_kept_on_the_leader() -> None:
    document = jobset("js", replicated_job("w", 2, 2), meta={"annotations": {EXCLUSIVE: POOL}})
    found = gang(document, exclusive_pods(nodeSelector={POOL: "a"}))
    assert [member.shape.selector for member in found.members()] == [((POOL, "a"),), (), ((POOL, "a"),), ()]


def test_without_an_exclusive_topology_terms_mean_what_they_say() -> None:
    found = gang(jobset("js", replicated_job("w", 2, 2)), exclusive_pods())
    assert [len(member.shape.anti_affinity) for member in found.members()] == [1, 0, 1, 0]


def test_followers_that_are_not_made_yet_are_planned() -> None:
    document = jobset("js", replicated_job("w", 1, 3), meta={"annotations": {EXCLUSIVE: POOL}})
    found = gang(document, [jobset_pod("js", "w", 0, 0, affinity=injected("k"))])
    assert [(m.name, m.exists) for m in found.members()] == [
        ("js-w-0-0-x7k2p", True),
        ("js-w-0-1", False),
        ("js-w-0-2", False),
    ]


@pytest.mark.parametrize(
    "status",
    [
        {"conditions": [{"type": "Completed", "status": "True"}]},
        {"conditions": [{"type": "Failed", "status": "True"}]},
        {"replicatedJobsStatus": [{"name": "w", "succeeded": 2}]},
    ],
)
def test_finished_jobsets_are_no_gang(status: Document) -> None:
    assert made(jobset("js", replicated_job("w", 2, 1), status=status)) is None


def test_replicated_jobs_that_succeeded_are_left_out() -> None:
    status = {"replicatedJobsStatus": [{"name": "init", "succeeded": 1}]}
    found = gang(jobset("js", replicated_job("init", 1, 1), replicated_job("w", 1, 1), status=status))
    assert list(layout(found)) == ["js-w-0"]


def test_a_restarted_jobset_has_leaving_and_new_pods() -> None:
    going = {"deletionTimestamp": "2026-01-01T01:00:00Z"}
    old = jobset_pod("js", "w", 0, 0, "n0", suffix="old")
    old["metadata"] |= going
    found = gang(jobset("js", replicated_job("w", 1, 1)), [old, jobset_pod("js", "w", 0, 0, suffix="new")])
    assert [(m.name, m.last_node) for m in found.members()] == [("js-w-0-0-new", "n0")]
    assert [(m.name, m.node) for m in found.leaving] == [("js-w-0-0-old", "n0")]


SEEDS = Path(__file__).parents[3] / "shared" / "seeds"


def seed_documents(name: str) -> Iterator[Document]:
    """The manifests between the code fences of a seed; some fences are stuck to the first line."""
    (path,) = SEEDS.glob(f"{name}_*.txt")
    for block in path.read_text().split("```")[1::2]:
        yield from (document for document in yaml.safe_load_all(block) if isinstance(document, dict))


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seeds are not here")
def test_the_jobsets_of_the_hotswap_seed() -> None:
    documents = list(seed_documents("000"))
    context = context_of(*(d for d in documents if d["kind"] == "PriorityClass"))
    high, low = (gang(d, context=context) for d in documents if d["kind"] == "JobSet")
    assert (high.priority, low.priority) == (2_000_000, 1_000_000)
    assert (len(high.islands), len(low.islands)) == (3, 1)
    assert all(island.topology == OWNED and len(island.members) == 2 for island in (*high.islands, *low.islands))
    (shape,) = {member.shape for found in (high, low) for member in found.members()}
    assert shape.host_ports == (HostPort(8080), HostPort(8431), HostPort(8471))
    assert dict(shape.selector)["node.kubernetes.io/instance-type"] == "n2-standard-64"


def test_priority_comes_from_the_template() -> None:
    context = context_of(*CLASSES, priority_class("top", 5000))
    found = gang(jobset("js", replicated_job("w", 1, 1, priorityClassName="top")), context=context)
    assert found.priority == 5000
