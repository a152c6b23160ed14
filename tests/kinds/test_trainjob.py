"""TrainJobs into gangs, by their runtimes."""

from typing import Any

import pytest

from tests.kinds.gangs import CLASSES, context_of, gang, layout, made
from tests.objects.documents import Document, container, metadata, replicated_job
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.model.gangs import Gang, Suspension, Topology, TopologyMode
from understudy.model.nodes import Toleration
from understudy.objects.errors import BadObject

API = "trainer.kubeflow.org/v1alpha1"


def runtime(kind: str = "ClusterTrainingRuntime", nodes: int = 2, mpi: Document | None = None) -> Document:
    pods: Document = {
        "containers": [container(), {**container({"cpu": "1"}), "name": "node"}],
        "priorityClassName": "high",
    }
    jobs = [replicated_job("dataset-initializer", 1, 1), replicated_job("node", 1, 1, **pods)]
    if mpi is not None:
        jobs.insert(1, replicated_job("launcher", 1, 1))
    policy = {"numNodes": nodes, **({"mpi": mpi} if mpi else {})}
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": "torch"},
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}},
    }


def trainjob(meta: Document | None = None, kind: str = "", **spec: Any) -> Document:
    ref = {"name": "torch", **({"kind": kind} if kind else {})}
    return {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": metadata("t", **(meta or {})),
        "spec": {"runtimeRef": ref, **spec},
    }


def of(document: Document, *around: Document) -> Gang:
    return gang(document, context=context_of(*CLASSES, *(around or (runtime(),))))


def test_the_runtime_gives_islands_and_nodes() -> None:
    found = of(trainjob())
    assert found.key == "TrainJob/default/t"
    assert layout(found) == {
        "t-dataset-initializer-0": ["t-dataset-initializer-0-0"],
        "t-node-0": ["t-node-0-0", "t-node-0-1"],
    }
    assert found.priority == 1000


def test_the_job_gives_the_number_of_nodes_and_their_resources() -> None:
    found = of(trainjob(trainer={"numNodes": 3, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4.0}}}))
    members = found.islands[1].members
    assert [member.shape.accelerators for member in members] == [4, 4, 4]
    assert found.islands[0].members[0].shape.accelerators == 0


def test_what_the_job_does_not_say_of_its_resources_stays_as_the_runtime_has_it() -> None:
    found = of(trainjob(trainer={"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}))
    assert dict(found.islands[1].members[0].shape.requests)["cpu"] == 1000


def test_an_initializer_that_is_done_is_waited_for_no_longer() -> None:
    done = {"jobsStatus": [{"name": "dataset-initializer", "succeeded": 1}, {"name": "node", "succeeded": 0}]}
    assert list(layout(of({**trainjob(), "status": done}))) == ["t-node-0"]


@pytest.mark.parametrize(("as_node", "workers"), [(False, 4), (True, 3)])
def test_a_launcher_may_be_a_node(as_node: bool, workers: int) -> None:
    found = of(trainjob(trainer={"numNodes": 4}), runtime(mpi={"runLauncherAsNode": as_node}))
    assert {name: len(members) for name, members in layout(found).items()} == {
        "t-dataset-initializer-0": 1,
        "t-launcher-0": 1,
        "t-node-0": workers,
    }


def test_runtimes_of_the_namespace() -> None:
    assert of(trainjob(kind="TrainingRuntime"), runtime("TrainingRuntime")).size == 3


def test_a_missing_runtime_is_named() -> None:
    with pytest.raises(BadObject) as caught:
        of(trainjob(kind="TrainingRuntime"), runtime())
    assert str(caught.value) == (
        "TrainJob default/t: spec.runtimeRef.name: there is no TrainingRuntime 'torch'; "
        "there are: ClusterTrainingRuntime torch"
    )


PATCH = {"nodeSelector": {"pool": "a"}, "tolerations": [{"operator": "Exists"}], "schedulingGates": [{"name": "quota"}]}


@pytest.mark.parametrize(
    "spec",
    [
        {"podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": PATCH}]},
        {
            "runtimePatches": [
                {
                    "trainingRuntimeSpec": {
                        "template": {
                            "spec": {
                                "replicatedJobs": [
                                    {"name": "node", "template": {"spec": {"template": {"spec": PATCH}}}}
                                ]
                            }
                        }
                    }
                }
            ]
        },
    ],
)
def test_patches_of_the_job(spec: Document) -> None:
    found = of(trainjob(**spec))
    initializer, node = found.islands
    assert initializer.members[0].shape.selector == ()
    assert node.members[0].shape.selector == (("pool", "a"),)
    assert node.members[0].shape.tolerations == (Toleration(operator="Exists"),)
    assert found.gates == ("quota",)


def test_topology_and_suspension() -> None:
    found = of(trainjob({"annotations": {EXCLUSIVE: "pool"}}, suspend=True))
    assert {island.topology for island in found.islands} == {Topology("pool", TopologyMode.EXCLUSIVE)}
    assert found.suspension is Suspension.BY_OWNER


def test_finished_jobs_are_no_gang() -> None:
    document = {**trainjob(), "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert made(document, context=context_of(runtime(), *CLASSES)) is None
