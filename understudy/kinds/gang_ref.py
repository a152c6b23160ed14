"""The gang of a pod, by name, and its place there."""

import msgspec

from understudy.objects.meta import KubeObject


class GangRef(msgspec.Struct, frozen=True, gc=False):
    """The gang of a pod, and its place. No slot: any place that its job still has to fill."""

    key: str  # Kind/namespace/name
    kind: str
    namespace: str
    name: str
    island: str = ""
    slot: str = ""
    infrastructure: bool = False

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def job_key(job: KubeObject) -> str:
    """The key of the gang that a job represents."""
    return f"{job.kind}/{job.metadata.namespace}/{job.metadata.name}"
