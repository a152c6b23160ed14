"""A cluster of so many nodes and pods as recorded lists: for each resource the texts of its objects."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from bench.scale import documents

SLICE_NODES = 16
DAEMONS = ("network", "device-plugin", "metrics", "logs")
JOB_PODS = 8
FREE, POOL = 0.1, 0.05  # shares of the slices that are free, and that plain Jobs use
WAITING = 32  # gangs that want a slice, and can have one
PODS_A_CLAIM = 50
FIRST_REVISION = 1_000_000


class Layout(msgspec.Struct, frozen=True):
    """The seats: daemons everywhere, a gang a slice, and for the rest of the pods plain Jobs on the last nodes."""

    nodes: int
    pods: int

    @property
    def slices(self) -> int:
        return self.nodes // SLICE_NODES

    @property
    def waiting(self) -> int:
        return max(1, min(WAITING, (self.slices - self.gangs) // 2))

    @property
    def gangs(self) -> int:
        return int(self.slices * (1 - FREE - POOL))

    @property
    def pool(self) -> int:
        """The nodes for plain Jobs."""
        return max(SLICE_NODES, int(self.nodes * POOL))

    @property
    def jobs(self) -> int:
        taken = self.nodes * len(DAEMONS) + (self.gangs + self.waiting) * SLICE_NODES
        return max(0, self.pods - taken) // JOB_PODS


class Recording:
    """The texts by resource, each in the order of the list."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.revision = FIRST_REVISION
        self.node_names = [f"node-{n:05}" for n in range(layout.nodes)]
        self.lists: dict[str, list[bytes]] = {
            "nodes": list(self._nodes()),
            "leases": list(self._leases()),
            "pods": [*self._daemons(), *self._gang_pods(), *self._job_pods()],
            "jobs": list(self._jobs()),
            "jobsets": list(self._jobsets()),
            "persistentvolumeclaims": list(self._claims()),
            "priorityclasses": [_priority_class("training", 100), _priority_class("batch", 10)],
            "namespaces": [_namespace(name) for name in ("default", "kube-system", "research", "data")],
        }

    def uid(self, kind: int, number: int) -> str:
        return f"{number:08x}-{kind:04x}-4000-8000-{number * 2654435761 % 2**48:012x}"

    def next_revision(self) -> int:
        self.revision += 1
        return self.revision

    def _common(self, kind: int, number: int) -> dict[str, object]:
        at = f"2026-01-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:{number * 7 % 60:02}Z"
        suffix = f"{number * 2654435761 % 16**5:05x}"  # of what the API server names by chance
        return {"uid": self.uid(kind, number), "revision": self.next_revision(), "at": at, "suffix": suffix}

    def _nodes(self) -> Iterator[bytes]:
        node = documents.node()
        for n, name in enumerate(self.node_names):
            yield node.filled(name=name, zone=n % 7, slice=f"slice-{n // SLICE_NODES:04}", **self._common(1, n))

    def _leases(self) -> Iterator[bytes]:
        lease = documents.lease()
        renewed = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for n, name in enumerate(self.node_names):
            yield lease.filled(name=name, namespace="kube-node-lease", renewed=renewed, **self._common(2, n))

    def _daemons(self) -> Iterator[bytes]:
        for d, daemon in enumerate(DAEMONS):
            pod = documents.daemon_pod(daemon, 1 + d % 2)
            for n, node in enumerate(self.node_names):
                yield pod.filled(
                    name=f"{daemon}-{n * 7919 % 16**5:05x}", prefix=daemon, namespace="kube-system", node=node,
                    owner_uid=self.uid(3, d), **self._common(4 + d, n),
                )  # fmt: skip

    def _gang_pods(self) -> Iterator[bytes]:
        running, waiting = documents.gang_pod(), documents.gang_pod(waiting=True)
        for gang in range(self.layout.gangs + self.layout.waiting):
            template = running if gang < self.layout.gangs else waiting
            jobset, number = f"train-{gang:04}", gang * SLICE_NODES
            for index in range(SLICE_NODES):
                yield template.filled(
                    name=f"{jobset}-w-0-{index}-{gang * 31 % 36**4:05x}", prefix=f"{jobset}-w-0-{index}",
                    namespace="research", jobset=jobset, job=f"{jobset}-w-0", index=index,
                    job_key=f"{gang * 2654435761 % 2**64:040x}", job_uid=self.uid(20, gang),
                    jobset_uid=self.uid(21, gang), owner_uid=self.uid(20, gang),
                    node=self.node_names[(number + index) % len(self.node_names)], **self._common(22, number + index),
                )  # fmt: skip

    def _job_pods(self) -> Iterator[bytes]:
        pod = documents.worker_pod()
        for job in range(self.layout.jobs):
            for index in range(JOB_PODS):
                number = job * JOB_PODS + index
                yield pod.filled(
                    name=f"prepare-{job:05}-{index}-x7k2p", prefix=f"prepare-{job:05}-{index}", namespace="data",
                    job=f"prepare-{job:05}", index=index, team=job % 40, job_uid=self.uid(30, job),
                    owner_uid=self.uid(30, job), node=self.node_names[-1 - number % self.layout.pool],
                    **self._common(31, number),
                )  # fmt: skip

    def _jobs(self) -> Iterator[bytes]:
        child, plain = documents.job(of_jobset=True), documents.job(of_jobset=False)
        for gang in range(self.layout.gangs + self.layout.waiting):
            jobset = f"train-{gang:04}"
            common = {**self._common(20, gang), "owner_uid": self.uid(21, gang)}
            yield child.filled(name=f"{jobset}-w-0", namespace="research", jobset=jobset, **common)
        for job in range(self.layout.jobs):
            yield plain.filled(name=f"prepare-{job:05}", namespace="data", jobset="", **self._common(30, job))

    def _claims(self) -> Iterator[bytes]:
        claim = documents.claim()
        for number in range(self.layout.pods // PODS_A_CLAIM):
            yield claim.filled(name=f"data-{number}", namespace="data", **self._common(40, number))

    def _jobsets(self) -> Iterator[bytes]:
        template = documents.jobset()
        for gang in range(self.layout.gangs + self.layout.waiting):
            name = f"train-{gang:04}"
            yield template.filled(name=name, namespace="research", jobset=name, **self._common(21, gang))


def _priority_class(name: str, value: int) -> bytes:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": documents.CREATED}
    return documents.plain(metadata=metadata, value=value, preemptionPolicy="PreemptLowerPriority")


def _namespace(name: str) -> bytes:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": documents.CREATED}
    return documents.plain(metadata=metadata, status={"phase": "Active"})
