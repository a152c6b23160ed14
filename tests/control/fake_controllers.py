"""What acts in a real cluster besides the scheduler: job controllers that create and delete pods, and kubelets.

`act` lets each of them do once what it has to do, and says whether anything was left to do.
"""

import itertools
from collections.abc import Iterator

import msgspec

from tests.control.fake_cluster import Document, FakeCluster
from understudy.kinds.annotations import STEPS_IN, format_time
from understudy.kinds.context import Context
from understudy.kinds.decoding import decode
from understudy.kinds.job_control import LEFT_TO_END
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.ownership import owner_of
from understudy.kinds.pod_groups.lookup import group_named
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.kinds.registry import JOB_RESOURCES, KINDS
from understudy.objects.jobs import TrainingRuntime
from understudy.objects.pods import Pod
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, NODES, PODS, TRAINING_RUNTIMES

_SUFFIXED = ("Job", "JobSet", "TrainJob")  # kinds whose pods have random ends to their names


class FakeControllers:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._numbers = itertools.count(1)
        self.clinging: set[str] = set()  # gangs whose pods do not go when they are told to
        self.idle: set[str] = set()  # gangs whose controllers do nothing

    def act(self) -> bool:
        acted = False
        for document in [job for resource in JOB_RESOURCES for job in self._cluster.all(resource)]:
            acted |= self._control(document)
        for pod in self._cluster.all(PODS):
            acted |= self._collect(pod) or self._step_in(pod) or self._run(pod)
        return acted

    # Controllers

    def _control(self, document: Document) -> bool:
        job = decode(document)
        key = f"{'JobSet' if job.kind == 'TrainJob' else job.kind}/{job.metadata.namespace}/{job.metadata.name}"
        if key in self.idle:
            return False
        outline = KINDS[job.kind].outline(job, self._context(), [])
        pods = list(self.pods_of(key))
        acted = self._finish(document, pods)
        if outline.suspended or acted:
            return self._take_away(pods) or acted
        return self._make(document, outline, pods)

    def _finish(self, job: Document, pods: list[Document]) -> bool:
        """A Job whose failure was asked for takes its pods away and fails, with the same reason."""
        conditions = {c["type"]: c for c in job.get("status", {}).get("conditions", ())}
        if "FailureTarget" not in conditions or "Failed" in conditions:
            return False
        self._take_away(pods)
        job["status"]["conditions"].append({**conditions["FailureTarget"], "type": "Failed"})
        self._cluster.change(job)
        return True

    def _make(self, job: Document, outline: GangOutline, pods: list[Document]) -> bool:
        acted = False
        slots = {owner_of(pod).slot for pod in map(_decoded, pods)}
        loose = sum(
            1 for pod in pods if not owner_of(_decoded(pod)).slot and "deletionTimestamp" not in pod["metadata"]
        )
        for role in outline.roles:
            for position, place in enumerate(role.names):
                interchangeable = job["kind"] == "Job" and not role.index_label
                if interchangeable and loose > 0:
                    loose -= 1
                elif (interchangeable or place not in slots) and self._may_be_made(job, role, position, pods):
                    self._make_pod(job, role, position)
                    acted = True
        return acted

    def _may_be_made(self, job: Document, role: RoleOutline, position: int, pods: list[Document]) -> bool:
        """The first version of MPIJob makes its launcher when all workers run; a JobSet that places its islands itself
        makes followers when their leader has a seat."""
        if position and job["kind"] == "JobSet" and _is_placed(job, role):
            leaders = [pod for pod in pods if owner_of(_decoded(pod)).slot == role.names[0]]
            return any(p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"] for p in leaders)
        if job["apiVersion"] != "kubeflow.org/v1alpha1" or not role.names[0].endswith("-launcher"):
            return True
        running = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
        return bool(len(running) == job["spec"]["replicas"])

    def _make_pod(self, job: Document, role: RoleOutline, position: int) -> None:
        place = role.names[position]
        meta = job["metadata"]
        kind = "JobSet" if job["kind"] == "TrainJob" else job["kind"]
        template = role.template
        self._cluster.put(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{place}-x{next(self._numbers)}" if kind in _SUFFIXED else place,
                    "namespace": meta["namespace"],
                    "labels": role.labels_at(position),
                    "annotations": dict(template.metadata.annotations),
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}
                    ],
                },
                "spec": msgspec.to_builtins(template.spec),
                "status": {"phase": "Pending"},
            }
        )

    def _take_away(self, pods: list[Document]) -> bool:
        acted = False
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                self._delete(pod)
                acted = True
        return acted

    def _delete(self, pod: Document) -> None:
        if pod["spec"].get("nodeName"):
            pod["metadata"]["deletionTimestamp"] = format_time(self._cluster.clock.now())
            self._cluster.change(pod)
        else:
            self._cluster.take_away(pod)

    def pods_of(self, key: str) -> Iterator[Document]:
        """By the key of their job, or of the group they name."""
        for pod in self._cluster.all(PODS):
            if key in (owner_of(_decoded(pod)).key, group_key(_decoded(pod))):
                yield pod

    def _context(self) -> Context:
        context = Context()
        for document in self._cluster.all(TRAINING_RUNTIMES) + self._cluster.all(CLUSTER_TRAINING_RUNTIMES):
            runtime = decode(document)
            assert isinstance(runtime, TrainingRuntime)
            namespace = "" if runtime.kind == "ClusterTrainingRuntime" else runtime.metadata.namespace
            context.runtimes[runtime.kind, namespace, runtime.metadata.name] = runtime
        return context

    # Kubelets and the garbage collector

    def _step_in(self, pod: Document) -> bool:
        """An understudy that became another pod is no more."""
        held_as = pod["metadata"].get("annotations", {}).get(STEPS_IN)
        found = [one for one in self._cluster.all(PODS) if held_as and one["metadata"]["uid"] == held_as]
        for understudy in found:
            self._cluster.take_away(understudy)
        return bool(found)

    def _collect(self, pod: Document) -> bool:
        """The pods of a job that is gone go with it."""
        for owner in pod["metadata"].get("ownerReferences", ()):
            if owner["kind"] not in KINDS:
                continue
            uids = {job["metadata"]["uid"] for resource in JOB_RESOURCES for job in self._cluster.all(resource)}
            if owner["uid"] not in uids and "deletionTimestamp" not in pod["metadata"]:
                self._delete(pod)
                return True
        return False

    def _run(self, pod: Document) -> bool:
        node = pod["spec"].get("nodeName")
        if not node or not self._is_alive(node):
            return False
        if "deletionTimestamp" in pod["metadata"]:
            if owner_of(_decoded(pod)).key in self.clinging:
                return False
            self._cluster.take_away(pod)
            return True
        if self._has_no_other_pods(pod):
            pod["status"]["phase"] = "Failed"
            self._cluster.change(pod)
            return True
        if pod.setdefault("status", {}).get("phase", "Pending") != "Pending":
            return False
        pod["status"] |= {"phase": "Running", "startTime": format_time(self._cluster.clock.now())}
        self._cluster.change(pod)
        return True

    def _has_no_other_pods(self, pod: Document) -> bool:
        """A launcher notices when its workers are gone, and ends."""
        told = {condition["type"] for condition in pod.get("status", {}).get("conditions", ())}
        if LEFT_TO_END not in told or pod["status"]["phase"] != "Running":
            return False
        return list(self.pods_of(owner_of(_decoded(pod)).key)) == [pod]

    def _is_alive(self, node: str) -> bool:
        for document in self._cluster.all(NODES):
            if document["metadata"]["name"] == node:
                conditions = document["status"].get("conditions", ())
                return all(c["status"] == "True" for c in conditions if c["type"] == "Ready")
        return False


def group_key(pod: Pod) -> str:
    group = group_named(pod.metadata, pod.spec)
    return group.key if group is not None else ""


def _is_placed(job: Document, role: RoleOutline) -> bool:
    """Whether it stands on the JobSet, or on this very part of it, that its islands are alone where they are."""
    notes = job["metadata"].get("annotations", {})
    parts = [part for part in job["spec"]["replicatedJobs"] if f"-{part['name']}-" in role.island]
    own = [part["template"].get("metadata", {}).get("annotations", {}) for part in parts]
    return any(EXCLUSIVE in one for one in (notes, *own))


def _decoded(document: Document) -> Pod:
    pod = decode(document)
    assert isinstance(pod, Pod)
    return pod
