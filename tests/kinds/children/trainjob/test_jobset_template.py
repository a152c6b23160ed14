"""The JobSet of a TrainJob: its runtime's template, and all that the job and the framework say of it."""

from typing import Any

import pytest

from tests.kinds.children.trainjob.documents import patch, runtime, step, template_patch, train_job
from tests.kinds.children.world import World
from tests.kinds.gangs import context_of, gang
from tests.objects.documents import Document, container
from understudy.kinds.children.actions import owner_reference
from understudy.kinds.children.partial_objects import FullMeta
from understudy.objects.resources import JOB_SETS


def made(job: Document, *runtimes: Document) -> Document:
    world = World(job)
    world.bring(*(runtimes or [runtime()]))
    world.look()
    assert "TrainJobResourcesCreationFailed" not in world.told(), world.notes
    return world.children[JOB_SETS.key]["train"]


def group(jobset: Document, name: str = "node") -> Document:
    found: Document = next(each for each in jobset["spec"]["replicatedJobs"] if each["name"] == name)
    return found


def pods(jobset: Document, name: str = "node") -> Document:
    spec: Document = group(jobset, name)["template"]["spec"]["template"]["spec"]
    return spec


def node(jobset: Document) -> Document:
    return next(each for each in pods(jobset)["containers"] if each["name"] == "node")


def variables(container: Document) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


NUMBER = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def test_a_jobset_of_the_same_name_belongs_to_the_job() -> None:
    jobset = made(train_job())
    owner = owner_reference("trainer.kubeflow.org/v1alpha1", "TrainJob", FullMeta(name="train", uid="parent-uid"))
    assert jobset["metadata"]["ownerReferences"] == [owner]
    assert (jobset["apiVersion"], jobset["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    assert jobset["spec"]["suspend"] is False
    assert pods(jobset)["containers"][0]["image"] == "trainer:1"


@pytest.mark.parametrize(
    ("given", "nodes"), [({}, 2), ({"numNodes": 3}, 3), ({"numNodes": 0}, 0)], ids=["runtime", "job", "none"]
)
def test_there_is_a_pod_a_node(given: Document, nodes: int) -> None:
    spec = group(made(train_job(trainer=given)))["template"]["spec"]
    assert (spec["parallelism"], spec["completions"]) == (nodes, nodes)


def test_torch_is_told_who_is_first_how_many_there_are_and_which_one_it_is() -> None:
    container = node(made(train_job(trainer={"numProcPerNode": 4})))
    assert variables(container) == {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": NUMBER,
        "PET_MASTER_ADDR": "train-node-0-0.train",
        "PET_MASTER_PORT": "29500",
    }
    assert container["ports"] == [{"containerPort": 29500}]


@pytest.mark.parametrize(
    ("resources", "processes"),
    [
        ({}, "1"),
        ({"limits": {"cpu": "3500m"}}, "4"),
        ({"requests": {"cpu": 2}, "limits": {"cpu": 8}}, "2"),
        ({"limits": {"nvidia.com/gpu": 8.0, "cpu": 64}}, "auto"),
    ],
    ids=["nothing said", "a limit", "a request", "accelerators"],
)
def test_how_many_processes_torch_starts_follows_from_what_a_node_has(resources: Document, processes: str) -> None:
    told = variables(node(made(train_job(trainer={"resourcesPerNode": resources}))))
    assert told["PET_NPROC_PER_NODE"] == processes


@pytest.mark.parametrize(
    ("framework", "told"),
    [
        (
            "jax",
            {
                "JAX_NUM_PROCESSES": "2",
                "JAX_PROCESS_ID": NUMBER,
                "JAX_COORDINATOR_ADDRESS": "train-node-0-0.train:29500",
            },
        ),
        (
            "xgboost",
            {
                "DMLC_TRACKER_URI": "train-node-0-0.train",
                "DMLC_TRACKER_PORT": "29500",
                "DMLC_TASK_ID": NUMBER,
                "DMLC_NUM_WORKER": "8",
            },
        ),
    ],
)
def test_other_frameworks_are_told_in_their_own_words(framework: str, told: Document) -> None:
    trainer = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}
    policy: dict[str, Any] = {"numNodes": 2, framework: {}}
    assert variables(node(made(train_job(trainer=trainer), runtime(**policy)))) == told


def test_a_plain_runtime_tells_nothing() -> None:
    container = node(made(train_job(), runtime(numNodes=1)))
    assert container.get("env", []) == []
    assert "ports" not in container


def test_the_job_says_what_runs() -> None:
    trainer = {
        "image": "mine:2",
        "command": ["torchrun"],
        "args": ["train.py"],
        "env": [{"name": "COLOUR", "value": "red"}, {"name": "NEW", "value": "1"}],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 2.0, "memory": "1Gi"}},
    }
    given = {**container({"cpu": "1"}), "name": "node", "env": [{"name": "COLOUR", "value": "blue"}]}
    sidecar = container()
    found = pods(made(train_job(trainer=trainer), runtime(step("node", "trainer", containers=[sidecar, given]))))
    assert found["containers"][0] == sidecar
    changed = found["containers"][1]
    assert (changed["image"], changed["command"], changed["args"]) == ("mine:2", ["torchrun"], ["train.py"])
    assert variables(changed).items() >= {"COLOUR": "red", "NEW": "1"}.items()
    assert changed["resources"] == {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "2", "memory": "1Gi"}}


@pytest.mark.parametrize("part", ["dataset", "model"])
def test_initializers_are_told_where_from(part: str) -> None:
    name = f"{part}-initializer"
    given = {"storageUri": "hf://some/where", "env": [{"name": "A", "value": "1"}], "secretRef": {"name": "token"}}
    jobset = made(train_job(initializer={part: given}), runtime(step(name), step("node", "trainer")))
    [container] = pods(jobset, name)["containers"]
    assert variables(container) == {"STORAGE_URI": "hf://some/where", "A": "1"}
    assert container["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert "PET_NNODES" in variables(node(jobset))


PATCH = {
    "nodeSelector": {"pool": "a"},
    "tolerations": [{"operator": "Exists"}],
    "schedulingGates": [{"name": "quota"}],
    "serviceAccountName": "me",
    "terminationGracePeriodSeconds": 7,
    "volumes": [{"name": "data", "emptyDir": {}}],
    "affinity": {"nodeAffinity": {"x": 1}},
    "containers": [{"name": "side", "env": [{"name": "A", "value": "2"}], "volumeMounts": [{"mountPath": "/data"}]}],
}


@pytest.mark.parametrize(
    "spec",
    [
        {"runtimePatches": [patch("node", **PATCH)]},
        {"podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": PATCH}]},
    ],
    ids=["patches", "overrides"],
)
def test_patches_are_merged_into_the_pods_they_name(spec: Document) -> None:
    side = {**container(), "name": "side", "env": [{"name": "A", "valueFrom": {}}, {"name": "B", "value": "1"}]}
    given = {
        "containers": [{**container(), "name": "node"}, side],
        "nodeSelector": {"zone": "z"},
        "tolerations": [{"key": "old"}],
        "volumes": [{"name": "data", "hostPath": {"path": "/x"}}, {"name": "more", "emptyDir": {}}],
        "affinity": {"podAffinity": {"y": 1}},
    }
    jobset = made(train_job(**spec), runtime(step("dataset-initializer"), step("node", "trainer", **given)))
    found = pods(jobset)
    assert found["nodeSelector"] == {"zone": "z", "pool": "a"}
    assert found["tolerations"] == [{"operator": "Exists"}]
    assert found["schedulingGates"] == [{"name": "quota"}]
    assert (found["serviceAccountName"], found["terminationGracePeriodSeconds"]) == ("me", 7)
    assert found["volumes"] == [{"name": "data", "emptyDir": {}}, {"name": "more", "emptyDir": {}}]
    assert found["affinity"] == {"nodeAffinity": {"x": 1}, "podAffinity": {"y": 1}}
    assert found["containers"][1]["env"] == [{"name": "A", "value": "2"}, {"name": "B", "value": "1"}]
    assert found["containers"][1]["volumeMounts"] == [{"mountPath": "/data"}]
    assert "nodeSelector" not in pods(jobset, "dataset-initializer")


def test_labels_and_annotations_come_from_the_runtime_the_patches_and_the_job() -> None:
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    base = runtime()
    base["spec"]["template"]["metadata"] = {"labels": {"a": "runtime", "b": "runtime"}}
    marks = {"metadata": {"labels": {"on": "job"}}, "spec": {"template": {"metadata": {"labels": {"on": "pod"}}}}}
    patching = template_patch("node", marks)
    patching["trainingRuntimeSpec"]["template"]["metadata"] = {"labels": {"b": "patch"}}
    job = train_job({"annotations": {**exclusive, "other": "x"}}, runtimePatches=[patching], annotations={"c": "spec"})
    jobset = made(job, base)
    assert jobset["metadata"]["labels"] == {"a": "runtime", "b": "patch"}
    assert jobset["metadata"]["annotations"].items() >= {**exclusive, "c": "spec"}.items()
    assert "other" not in jobset["metadata"]["annotations"]
    template = group(jobset)["template"]
    assert template["metadata"]["labels"]["on"] == "job"
    assert template["spec"]["template"]["metadata"]["labels"]["on"] == "pod"


def test_a_runtime_of_the_namespace_goes_by_its_kind() -> None:
    here = runtime(kind="TrainingRuntime", numNodes=5)
    spec = group(made(train_job(ref={"kind": "TrainingRuntime"}), runtime(), here))["template"]["spec"]
    assert spec["parallelism"] == 5


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2500m"}, "limits": {"tpu": 4.0}}}},
        {"runtimePatches": [patch("node", nodeSelector={"pool": "a"}, tolerations=[{"operator": "Exists"}])]},
        {"suspend": True},
    ],
    ids=["plain", "large", "patched", "suspended"],
)
def test_what_is_made_is_what_seats_were_planned_for(spec: Document) -> None:
    tolerant = {"tolerations": [{"key": "old", "operator": "Exists"}], "nodeSelector": {"zone": "z"}}
    base = runtime(step("model-initializer"), step("node", "trainer", **tolerant))
    planned = gang(train_job(**spec), context=context_of(base))
    found = gang(made(train_job(**spec), base))
    assert found.islands == planned.islands
    assert found.suspension == planned.suspension


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (
            train_job(ref={"name": "nosuch"}),
            ("spec.runtimeRef.name: there is no ClusterTrainingRuntime 'nosuch'; there are: basic"),
        ),
        (
            train_job(initializer={"model": {"storageUri": "hf://x"}}),
            (
                "spec.initializer.model: ClusterTrainingRuntime basic has no replicated job with "
                "the label trainer.kubeflow.org/trainjob-ancestor-step: model-initializer"
            ),
        ),
        (
            train_job(trainer={"env": [{"name": "PET_NNODES", "value": "9"}]}),
            "spec.trainer.env: PET_NNODES is set for torch by itself; take it out",
        ),
        (
            train_job(trainer={"resourcesPerNode": {"limits": {"nvidia.com/gpu": "two"}}}),
            (
                "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]: 'two' is not a quantity; write a number like 4, "
                "500m, 1.5, 16Gi or 1e3"
            ),
        ),
        (
            train_job(runtimePatches=[patch("launcher", nodeSelector={"a": "b"})]),
            ("spec.runtimePatches[0]: its runtime has no replicated job 'launcher'; there are: node"),
        ),
        (
            train_job(runtimePatches=[patch("node", containers=[{"name": "side"}])]),
            ("spec.runtimePatches[0]: replicated job 'node' has no 'side' among its containers; there are: node"),
        ),
        (
            train_job(runtimePatches=[patch("node", containers=[{"name": "node", "env": [{"name": "A"}]}])]),
            ("spec.runtimePatches[0]: the env of container 'node' is written in spec.trainer.env"),
        ),
    ],
    ids=[
        "no runtime",
        "no initializer",
        "reserved variable",
        "no quantity",
        "no such job",
        "no such container",
        "env elsewhere",
    ],
)
def test_what_does_not_fit_is_told_and_nothing_is_made(job: Document, words: str) -> None:
    world = World(job)
    world.bring(runtime())
    world.look()
    assert [(note.reason, note.message, note.type) for note in world.notes] == [
        ("TrainJobResourcesCreationFailed", f"TrainJob default/train: {words}", "Warning")
    ]
    assert world.children[JOB_SETS.key] == {}
    assert world.conditions() == {}


def test_a_runtime_without_a_trainer_is_told() -> None:
    world = World(train_job())
    world.bring(runtime(step("other")))
    world.look()
    assert world.notes[0].message == (
        "ClusterTrainingRuntime basic: spec.template.spec.replicatedJobs: none of them is called 'node' or has the "
        "label trainer.kubeflow.org/trainjob-ancestor-step: trainer"
    )
