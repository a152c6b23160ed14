"""The pods of a Job: a full copy of its template, with the owner and the completion index on each pod."""

from collections.abc import Sequence
from typing import Any

from understudy.kinds.children.actions import CreateChild, Document, EventNote, owner_reference
from understudy.kinds.children.job.pod_failures import IndexFailures
from understudy.kinds.children.job.spec import FAILURE_COUNT, IGNORED_COUNT, TRACKING, JobObject
from understudy.kinds.pod_labels import COMPLETION_INDEX, JOB_NAME, OLD_JOB_NAME
from understudy.objects.resources import JOBS, PODS

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
OLD_CONTROLLER_UID = "controller-uid"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
LONGEST_PREFIX = 58  # a pod's name has 63 characters at most, and 5 of them are random
CREATED = EventNote("SuccessfulCreate", "Created pod: {name}")


class PodMaker:
    """Creates the manifests of any number of pods of one Job; they share their common parts."""

    def __init__(self, job: JobObject, template: Document) -> None:
        self._job = job
        meta = template.get("metadata") or {}
        identity = job.metadata
        self._labels = {
            **(meta.get("labels") or {}),
            CONTROLLER_UID: identity.uid,
            OLD_CONTROLLER_UID: identity.uid,
            JOB_NAME: identity.name,
            OLD_JOB_NAME: identity.name,
        }
        self._annotations: dict[str, str] = dict(meta.get("annotations") or {})
        kept = [name for name in meta.get("finalizers") or () if name != TRACKING]
        self._shared = {
            "namespace": identity.namespace,
            "finalizers": [*kept, TRACKING],
            "ownerReferences": [owner_reference(JOBS.api_version, JOBS.kind, identity)],
        }
        self._spec: Document = _with_index_variable(template["spec"]) if job.indexed else template["spec"]

    def plain(self) -> CreateChild:
        return self._created(_prefix(self._job.metadata.name, "-"), self._labels, self._annotations, self._spec)

    def indexed(self, index: int, attempts: IndexFailures | None = None) -> CreateChild:
        """`attempts`: how often the index failed before, if that is limited."""
        name, index_note = self._job.metadata.name, {COMPLETION_INDEX: str(index)}
        noted: dict[str, str] = {}
        if attempts is not None:
            noted[FAILURE_COUNT] = str(attempts.counted)
            if attempts.ignored:
                noted[IGNORED_COUNT] = str(attempts.ignored)
        spec = {**self._spec, "hostname": f"{name}-{index}"}
        prefix = _prefix(name, f"-{index}-")
        return self._created(prefix, {**self._labels, **index_note}, {**self._annotations, **index_note, **noted}, spec)

    def _created(self, prefix: str, labels: dict[str, str], annotations: dict[str, str], spec: Document) -> CreateChild:
        metadata: Document = {"generateName": prefix, **self._shared, "labels": labels}
        if annotations:
            metadata["annotations"] = annotations
        return CreateChild(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, CREATED)


def _prefix(name: str, ending: str) -> str:
    return name[: LONGEST_PREFIX - len(ending)] + ending


def _with_index_variable(spec: Document) -> Document:
    """Every container gets its index, unless the template sets the variable."""
    lists = {key: [_with_index(c) for c in spec[key]] for key in ("initContainers", "containers") if spec.get(key)}
    return {**spec, **lists}


def _with_index(container: Document) -> Document:
    env: Sequence[dict[str, Any]] = container.get("env") or ()
    if any(variable.get("name") == INDEX_VARIABLE for variable in env):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*env, {"name": INDEX_VARIABLE, "valueFrom": source}]}
