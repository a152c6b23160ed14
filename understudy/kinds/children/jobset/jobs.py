"""The child Jobs of a JobSet and the Service that names their pods: templates with their labels."""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from understudy.kinds.children.actions import CreateChild, Document, owner_reference
from understudy.kinds.children.jobset.spec import ATTEMPT, JOB_ATTEMPT, PREFIX, JobSetObject, ReplicatedJob
from understudy.kinds.children.jobset.volume_claims import volumes
from understudy.kinds.pod_labels import EXCLUSIVE, JOB_INDEX, JOB_KEY, JOBSET_NAME, NODE_SELECTOR, REPLICATED_JOB
from understudy.objects.resources import JOB_SETS, JOBS, SERVICES

NAMESPACED_JOB = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}


class ChildJobSlot(msgspec.Struct, frozen=True):
    """One child Job: its group, its number in the group, and its numbers in everything."""

    group: ReplicatedJob
    position: int  # of the group in the JobSet
    index: int
    name: str
    global_index: int
    group_index: int  # among the Jobs of the same groupName


def child_job_slots(jobset: JobSetObject) -> Iterator[ChildJobSlot]:
    counted: dict[str, int] = {}
    total = 0
    for position, group in enumerate(jobset.spec.replicated_jobs):
        for index in range(group.replicas):
            of_group = counted.get(group.group_name, 0)
            yield ChildJobSlot(group, position, index, jobset.job_name(group, index), total, of_group)
            counted[group.group_name] = of_group + 1
            total += 1


class JobMaker:
    def __init__(self, jobset: JobSetObject, document: Document) -> None:
        self._jobset = jobset
        self._document = document
        self._groups: list[Document] = document["spec"]["replicatedJobs"]
        self._own_annotations: Mapping[str, str] = jobset.metadata.annotations
        self._sizes: dict[str, int] = {}
        for group in jobset.spec.replicated_jobs:
            self._sizes[group.group_name] = self._sizes.get(group.group_name, 0) + group.replicas

    def job(self, place: ChildJobSlot) -> CreateChild:
        template: Document = self._groups[place.position].get("template") or {}
        given: Document = template.get("metadata") or {}
        marks = self._marks(place)
        notes = {**self._passed_on(), **(given.get("annotations") or {})}
        metadata = {
            "name": place.name,
            "namespace": self._jobset.metadata.namespace,
            "labels": {**(given.get("labels") or {}), **marks},
            "annotations": {**notes, **marks},
            "ownerReferences": [owner_reference(JOB_SETS.api_version, JOB_SETS.kind, self._jobset.metadata)],
        }
        spec = self._spec(template["spec"], place, marks, notes)
        return CreateChild(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})

    def _marks(self, place: ChildJobSlot) -> dict[str, str]:
        """Labels and annotations at once, on the Job and on its pods."""
        jobset, group = self._jobset, place.group
        full_name = f"{jobset.metadata.namespace}/{place.name}"
        marks = {
            JOBSET_NAME: jobset.metadata.name,
            f"{PREFIX}jobset-uid": jobset.metadata.uid,
            REPLICATED_JOB: group.name,
            f"{PREFIX}replicatedjob-replicas": str(group.replicas),
            f"{PREFIX}global-replicas": str(sum(self._sizes.values())),
            JOB_INDEX: str(place.index),
            f"{PREFIX}job-global-index": str(place.global_index),
            JOB_KEY: hashlib.sha1(full_name.encode(), usedforsecurity=False).hexdigest(),
            ATTEMPT: str(jobset.status.restarts),
            JOB_ATTEMPT: str(jobset.job_attempt(group.name, place.index)),
            f"{PREFIX}group-name": group.group_name,
            f"{PREFIX}group-replicas": str(self._sizes[group.group_name]),
            f"{PREFIX}job-group-index": str(place.group_index),
        }
        if coordinator := self._coordinator():
            marks[f"{PREFIX}coordinator"] = coordinator
        return marks

    def _coordinator(self) -> str:
        chosen = self._jobset.spec.coordinator
        if chosen is None:
            return ""
        host = f"{self._jobset.metadata.name}-{chosen.replicated_job}-{chosen.job_index}-{chosen.pod_index}"
        return f"{host}.{self._jobset.subdomain}" if self._jobset.subdomain else host

    def _passed_on(self) -> dict[str, str]:
        """What stands on the JobSet about placement holds for all of its Jobs."""
        return {key: value for key, value in self._own_annotations.items() if key in (EXCLUSIVE, NODE_SELECTOR)}

    def _spec(
        self, spec: Document, place: ChildJobSlot, marks: Mapping[str, str], notes: Mapping[str, str]
    ) -> Document:
        template: Document = spec.get("template") or {}
        given: Document = template.get("metadata") or {}
        passed = {key: value for key, value in notes.items() if key in (EXCLUSIVE, NODE_SELECTOR)}
        metadata = {
            **given,
            "labels": {**(given.get("labels") or {}), **marks},
            "annotations": {**(given.get("annotations") or {}), **passed, **marks},
        }
        pods = self._pods(template.get("spec") or {}, place, preselected=EXCLUSIVE in notes and NODE_SELECTOR in notes)
        return {
            **spec,
            "completionMode": spec.get("completionMode") or "Indexed",
            "suspend": self._jobset.spec.suspend,
            "template": {**template, "metadata": metadata, "spec": pods},
        }

    def _pods(self, spec: Document, place: ChildJobSlot, preselected: bool) -> Document:
        """With the node-selector strategy each Job's nodes carry its name, and a taint that keeps the others out."""
        pods = {**spec, "restartPolicy": spec.get("restartPolicy") or "OnFailure"}
        if claimed := volumes(self._jobset.metadata.name, self._document, spec):
            pods["volumes"] = [*(spec.get("volumes") or ()), *claimed]
        if self._jobset.subdomain:
            pods["subdomain"] = self._jobset.subdomain
        if preselected:
            mark = {NAMESPACED_JOB: f"{self._jobset.metadata.namespace}_{place.name}"}
            pods["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **mark}
            pods["tolerations"] = [*(spec.get("tolerations") or ()), NO_SCHEDULE]
        return pods


def service(jobset: JobSetObject) -> CreateChild:
    """Headless: the names of the pods are all it is for."""
    meta = jobset.metadata
    metadata = {
        "name": jobset.subdomain,
        "namespace": meta.namespace,
        "ownerReferences": [owner_reference(JOB_SETS.api_version, JOB_SETS.kind, meta)],
    }
    spec = {
        "clusterIP": "None",
        "selector": {JOBSET_NAME: meta.name},
        "publishNotReadyAddresses": jobset.spec.network.publish_not_ready_addresses,
    }
    return CreateChild(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
