"""Jobs of every kind on a cluster with spot machines: each role goes where its own pod template says, in each form."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.embedded.cluster_monitor import Document
from tests.embedded.end_to_end.test_mpi_jobs import mpijob
from tests.embedded.end_to_end.training_manifests import role, training
from tests.embedded.manifests import STAYS, job, jobset, lone_pod
from tests.embedded.real_cluster import RealCluster, example_nodes
from tests.embedded.shared_cluster import SharedClusters
from understudy.objects.resources import PODS

API = "trainer.kubeflow.org/v1alpha1"
SPOT = "kubernetes.azure.com/scalesetpriority"
GRACE = 25
TOLERATION = {"key": SPOT, "operator": "Equal", "value": "spot", "effect": "NoSchedule"}


def affinity(form: str, key: str, value: str) -> Document:
    matches = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    if form == "required":
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [matches]}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": matches}]}


def steered(form: str, key: str, value: str) -> Document:
    """Fields of a pod that steer it by a label. All pods tolerate the taint of spot nodes, so nothing else steers."""
    common: Document = {"tolerations": [TOLERATION], "terminationGracePeriodSeconds": GRACE}
    if form == "nodeSelector":
        return {**common, "nodeSelector": {key: value}}
    return {**common, "affinity": {"nodeAffinity": affinity(form, key, value)}}


def _steer(template: Document, fields: Document) -> None:
    template["spec"] |= copy.deepcopy(fields)


def _training(kind: str, lead: str) -> Callable[[Document, Document], Document]:
    def made(leads: Document, works: Document) -> Document:
        roles = {lead: role(STAYS), "Worker": role(STAYS, 2)}
        _steer(roles[lead]["template"], leads)
        _steer(roles["Worker"]["template"], works)
        return training(kind, "train", roles)

    return made


def _mpijob(version: str) -> Callable[[Document, Document], Document]:
    def made(leads: Document, works: Document) -> Document:
        document = mpijob(version, "train", STAYS, workers=2)
        roles = document["spec"]["mpiReplicaSpecs"]
        _steer(roles["Launcher"]["template"], leads)
        _steer(roles["Worker"]["template"], works)
        return document

    return made


def _jobset(leads: Document, works: Document) -> Document:
    document = jobset("train", 1, job("train"))
    [driver] = document["spec"]["replicatedJobs"]
    workers = {**copy.deepcopy(driver), "name": "workers", "replicas": 2}
    _steer(driver["template"]["spec"]["template"], leads)
    _steer(workers["template"]["spec"]["template"], works)
    document["spec"]["replicatedJobs"] = [driver, workers]
    return document


def _job(_: Document, works: Document) -> Document:
    document = job("train", pods=2)
    _steer(document["spec"]["template"], works)
    return document


def _pod(_: Document, works: Document) -> Document:
    document = lone_pod("train")
    _steer(document, works)
    return document


def _trainjob(spec: Callable[[Document], Document]) -> Callable[[Document, Document], Document]:
    def made(_: Document, works: Document) -> Document:
        trainer = {"command": ["sh", "-c", STAYS], "numNodes": 2}
        body = {"runtimeRef": {"name": "plain"}, "trainer": trainer, **spec(works)}
        return {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": "train"}, "spec": body}

    return made


def _overrides(works: Document) -> Document:
    return {"podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": works}]}


def _patches(works: Document) -> Document:
    pods = {"template": {"spec": works}}
    patch = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": pods}}]}}}
    return {"runtimePatches": [{"manager": "example.com/steering", "trainingRuntimeSpec": patch}]}


# How many pods lead, how many work, and the job.
KINDS: dict[str, tuple[int, int, Callable[[Document, Document], Document]]] = {
    "TFJob": (1, 2, _training("TFJob", "PS")),
    "PyTorchJob": (1, 2, _training("PyTorchJob", "Master")),
    "XGBoostJob": (1, 2, _training("XGBoostJob", "Master")),
    "PaddleJob": (1, 2, _training("PaddleJob", "Master")),
    "MPIJob v1": (1, 2, _mpijob("v1")),
    "MPIJob v2beta1": (1, 2, _mpijob("v2beta1")),
    "JobSet": (1, 2, _jobset),
    "TrainJob by podTemplateOverrides": (0, 2, _trainjob(_overrides)),
    "TrainJob by runtimePatches": (0, 2, _trainjob(_patches)),
    "Job": (0, 2, _job),
    "Pod": (0, 1, _pod),
}


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *((kind, "nodeSelector") for kind in KINDS),
        ("TFJob", "required"),
        ("TFJob", "preferred"),
        ("JobSet", "required"),
        ("MPIJob v2beta1", "preferred"),
        ("TrainJob by podTemplateOverrides", "required"),
    ],
)
def test_every_role_sits_where_its_own_template_says(shared: SharedClusters, kind: str, form: str) -> None:
    leads, works, made = KINDS[kind]
    document = made(steered(form, "agentpool", "system"), steered(form, SPOT, "spot"))

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(document)
        pods = await cluster.monitor.until("all run", lambda: _running(cluster, leads + works))
        pools = sorted(pod["spec"]["nodeName"].partition("-")[0] for pod in pods)
        assert pools == ["spot"] * works + ["system"] * leads
        assert {pod["spec"]["terminationGracePeriodSeconds"] for pod in pods} == {GRACE}

    shared.play(example_nodes("azure-spot"), scenario)


def _waits(cluster: RealCluster) -> str:
    conditions = [one for pod in cluster.monitor.all(PODS) for one in pod["status"].get("conditions", ())]
    return next((str(one["message"]) for one in conditions if one["type"] == "PodScheduled" and "message" in one), "")


def _running(cluster: RealCluster, count: int) -> list[Document]:
    pods = cluster.monitor.all(PODS)
    return pods if len(pods) == count and all(pod["status"].get("phase") == "Running" for pod in pods) else []


@pytest.mark.parametrize("kind", ["TFJob", "JobSet", "Job"])
def test_a_job_that_does_not_tolerate_the_taint_waits_and_says_which(shared: SharedClusters, kind: str) -> None:
    _, _, made = KINDS[kind]
    plain: dict[str, Any] = {"nodeSelector": {SPOT: "spot"}}

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(made({}, plain))
        said = await cluster.monitor.until("it is told why it waits", lambda: _waits(cluster))
        assert f"taint {SPOT}=spot:NoSchedule is not tolerated" in said
        assert not any(pod["spec"].get("nodeName") for pod in cluster.monitor.all(PODS))

    shared.play(example_nodes("azure-spot"), scenario)
