"""apps/v1 Deployment as its controller reads it, with its ReplicaSets."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import Document, ObservedChildren
from understudy.kinds.children.partial_objects import FullMeta, PartialReplicaSet
from understudy.kinds.children.workload_pods import WorkloadSpec, amount
from understudy.objects.meta import Condition, Part, Time, seconds
from understudy.objects.resources import REPLICA_SETS

TEMPLATE_HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"


class RollingUpdate(Part, frozen=True, gc=False):
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class Strategy(Part, frozen=True, gc=False):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(WorkloadSpec, frozen=True, gc=False):
    paused: bool = False
    progress_deadline_seconds: int = 600
    strategy: Strategy = Strategy()


class DeploymentCondition(Condition, frozen=True, gc=False):
    last_update_time: Time | None = None


class DeploymentStatus(Part, frozen=True, gc=False):
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class DeploymentObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()

    @property
    def max_surge(self) -> int:
        rolling = self.spec.strategy.type == "RollingUpdate"
        return amount(self.spec.strategy.rolling_update.max_surge, self.spec.replicas, up=True) if rolling else 0

    @property
    def max_unavailable(self) -> int:
        """At least one of the two is above zero, or nothing would ever be updated."""
        if self.spec.strategy.type != "RollingUpdate":
            return 0
        given = amount(self.spec.strategy.rolling_update.max_unavailable, self.spec.replicas, up=False)
        return min(self.spec.replicas, given if given or self.max_surge else 1)


class Rollout(NamedTuple):
    """A deployment with the ReplicaSet of its template, which may not exist yet, and those of older ones."""

    deployment: DeploymentObject
    document: Document
    current: PartialReplicaSet | None
    old: Sequence[PartialReplicaSet]  # the oldest first
    now: float

    @property
    def all(self) -> list[PartialReplicaSet]:
        return [*self.old, *([self.current] if self.current else [])]

    @property
    def status(self) -> Document:
        status: Document = self.document.get("status") or {}
        return status


def rollout_of(document: Document, observed: ObservedChildren, now: float) -> Rollout:
    deployment = msgspec.convert(document, DeploymentObject)
    found = [
        one for one in observed.of(REPLICA_SETS) if isinstance(one, PartialReplicaSet) and not one.metadata.leaving
    ]
    found.sort(key=lambda one: (seconds(one.metadata.creation_timestamp) or 0.0, one.metadata.name))
    template = without_hash(deployment.spec.template)
    current = next((one for one in found if without_hash(one.spec.template) == template), None)
    return Rollout(deployment, document, current, [one for one in found if one is not current], now)


def without_hash(template: Document) -> Document:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def revision_of(replica_set: PartialReplicaSet) -> int:
    text = replica_set.metadata.annotations.get(REVISION, "0")
    return int(text) if text.isdecimal() else 0
