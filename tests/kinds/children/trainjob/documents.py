"""TrainJobs and runtimes as documents, with what a test cares about and defaults for the rest."""

from typing import Any

from tests.objects.documents import Document, container, metadata, replicated_job

API = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def step(name: str, role: str = "", **pod: Any) -> Document:
    """One replicated job of a runtime; its container goes by the same name unless others are given."""
    pod = {"containers": [{**container(), "name": name}], **pod}
    return replicated_job(name, 1, 1, meta={"labels": {STEP: role or name}}, **pod)


def runtime(*steps: Document, kind: str = "ClusterTrainingRuntime", **policy: Any) -> Document:
    """For torch, where nothing else is said."""
    scope = {"namespace": "default"} if kind == "TrainingRuntime" else {}
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": "basic", **scope},
        "spec": {
            "mlPolicy": policy or {"numNodes": 2, "torch": {}},
            "template": {"spec": {"replicatedJobs": list(steps or [step("node", "trainer")])}},
        },
    }


def train_job(meta: Document | None = None, ref: Document | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": metadata("train", **(meta or {})),
        "spec": {"runtimeRef": {"name": "basic", **(ref or {})}, **spec},
    }


def patch(job: str, **pod: Any) -> Document:
    """An entry of `runtimePatches` for the pods of one replicated job."""
    return template_patch(job, {"spec": {"template": {"spec": pod}}})


def template_patch(job: str, template: Document) -> Document:
    jobs = [{"name": job, "template": template}]
    return {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
