"""Which pods of a gang its controller makes before which, and what it waits for in between."""

import pytest

from tests.kinds.gangs import gang
from tests.objects.documents import Document, jobset, metadata, pod_spec, replicated_job
from understudy.kinds.pod_labels import EXCLUSIVE, NODE_SELECTOR
from understudy.model.gangs import PodCreation

PLACED = {"annotations": {EXCLUSIVE: "rack"}}
FIRST = (0, PodCreation.AT_ONCE)


def depends(name: str, status: str) -> Document:
    return {**replicated_job("late", 1, 1), "dependsOn": [{"name": name, "status": status}]}


def in_order(*jobs: Document, meta: Document | None = None) -> Document:
    found = jobset("js", *jobs, meta=meta)
    found["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    return found


def mpi(version: str, **spec: object) -> Document:
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": metadata("m"), "spec": spec}


REPLICAS = {
    "Launcher": {"replicas": 1, "template": {"spec": pod_spec()}},
    "Worker": {"replicas": 1, "template": {"spec": pod_spec()}},
}


@pytest.mark.parametrize(
    ("document", "stages"),
    [
        (jobset("js", replicated_job("w", 1, 2)), {"js-w-0-0": FIRST, "js-w-0-1": FIRST}),
        (
            jobset("js", replicated_job("w", 2, 2), meta=PLACED),
            {
                "js-w-0-0": FIRST,
                "js-w-0-1": (1, PodCreation.WHEN_SEATED),
                "js-w-1-0": FIRST,
                "js-w-1-1": (1, PodCreation.WHEN_SEATED),
            },
        ),
        (
            jobset("js", replicated_job("w", 1, 2, PLACED)),
            {"js-w-0-0": FIRST, "js-w-0-1": (1, PodCreation.WHEN_SEATED)},
        ),
        (
            jobset("js", replicated_job("w", 1, 2), meta={"annotations": {EXCLUSIVE: "rack", NODE_SELECTOR: "true"}}),
            {"js-w-0-0": FIRST, "js-w-0-1": FIRST},
        ),
        (
            jobset("js", replicated_job("first", 1, 1), depends("first", "Ready")),
            {"js-first-0-0": FIRST, "js-late-0-0": (2, PodCreation.WHEN_READY)},
        ),
        (
            jobset("js", replicated_job("first", 1, 1), depends("first", "Complete")),
            {"js-first-0-0": FIRST, "js-late-0-0": (2, PodCreation.WHEN_DONE)},
        ),
        (
            in_order(replicated_job("a", 1, 1), replicated_job("b", 1, 2), meta=PLACED),
            {
                "js-a-0-0": FIRST,
                "js-b-0-0": (2, PodCreation.WHEN_READY),
                "js-b-0-1": (3, PodCreation.WHEN_SEATED),
            },
        ),
        (
            mpi("v1alpha1", replicas=1, template={"spec": pod_spec()}),
            {"m-launcher": (2, PodCreation.WHEN_READY), "m-worker-0": FIRST},
        ),
        (mpi("v2beta1", mpiReplicaSpecs=REPLICAS), {"m-launcher": FIRST, "m-worker-0": FIRST}),
        (
            mpi("v2beta1", mpiReplicaSpecs=REPLICAS, launcherCreationPolicy="WaitForWorkersReady"),
            {"m-launcher": (2, PodCreation.WHEN_READY), "m-worker-0": FIRST},
        ),
    ],
)
def test_stages_of_the_kinds(document: Document, stages: dict[str, tuple[int, PodCreation]]) -> None:
    assert {m.name: (m.stage, m.made) for m in gang(document).members()} == stages


def test_a_launcher_that_has_run_may_come_after_its_workers() -> None:
    document = mpi("v2beta1", mpiReplicaSpecs=REPLICAS)
    document["status"] = {"conditions": [{"type": "Running", "status": "False"}]}
    stages = {m.name: (m.stage, m.made) for m in gang(document).members()}
    assert stages == {"m-launcher": (2, PodCreation.WHEN_READY), "m-worker-0": FIRST}


def test_a_stage_whose_predecessors_are_done_is_the_first() -> None:
    document = jobset("js", replicated_job("first", 1, 1), depends("first", "Complete"))
    document["status"] = {"replicatedJobsStatus": [{"name": "first", "succeeded": 1}]}
    assert [m.name for m in gang(document).members()] == ["js-late-0-0"]
