"""apps/v1 StatefulSet as its controller reads it, with its pods by number."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import Document, ObservedChildren, owner_reference
from understudy.kinds.children.partial_objects import FullMeta, PartialPod
from understudy.kinds.children.revisions import REVISION_HASH, RevisionHistory, history_of
from understudy.kinds.children.workload_pods import WorkloadSpec, is_available, selector_in, strays
from understudy.objects.meta import Part
from understudy.objects.resources import STATEFUL_SETS


class RollingUpdate(Part, frozen=True, gc=False):
    partition: int = 0


class UpdateStrategy(Part, frozen=True, gc=False):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class Ordinals(Part, frozen=True, gc=False):
    start: int = 0


class ClaimRetention(Part, frozen=True, gc=False):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetSpec(WorkloadSpec, frozen=True, gc=False):
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: Ordinals = Ordinals()
    service_name: str = ""
    volume_claim_templates: tuple[Document, ...] = ()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()


class StatefulSetStatus(Part, frozen=True, gc=False):
    current_revision: str = ""


class StatefulSetObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: StatefulSetSpec
    status: StatefulSetStatus = StatefulSetStatus()


class NumberedPods(NamedTuple):
    """A set with its pods by number, and those that are no longer its own."""

    stateful: StatefulSetObject
    document: Document
    pods: Mapping[int, PartialPod]
    lost: Sequence[PartialPod]
    history: RevisionHistory
    now: float

    @property
    def owner(self) -> Document:
        return owner_reference(STATEFUL_SETS.api_version, STATEFUL_SETS.kind, self.stateful.metadata)

    @property
    def wanted(self) -> range:
        start = self.stateful.spec.ordinals.start
        return range(start, start + self.stateful.spec.replicas)

    @property
    def condemned(self) -> list[int]:
        """Numbers beyond the replicas, the highest first."""
        return sorted((number for number in self.pods if number not in self.wanted), reverse=True)

    @property
    def current_revision(self) -> str:
        return self.stateful.status.current_revision or self.history.newest

    @property
    def one_at_a_time(self) -> bool:
        return self.stateful.spec.pod_management_policy == "OrderedReady"

    def is_healthy(self, number: int) -> bool:
        pod = self.pods.get(number)
        return pod is not None and pod.active and self.is_available(pod)

    def is_available(self, pod: PartialPod) -> bool:
        return is_available(pod, self.stateful.spec.min_ready_seconds, self.now)

    def is_updated(self, pod: PartialPod) -> bool:
        return revision_of(self.stateful, pod) == self.history.newest


def revision_of(stateful: StatefulSetObject, pod: PartialPod) -> str:
    label = pod.metadata.labels.get(REVISION_HASH, "")
    return label if label.startswith(f"{stateful.metadata.name}-") else f"{stateful.metadata.name}-{label}"


def numbered_pods(document: Document, observed: ObservedChildren, now: float) -> NumberedPods:
    stateful = msgspec.convert(document, StatefulSetObject)
    meta = stateful.metadata
    owner = owner_reference(STATEFUL_SETS.api_version, STATEFUL_SETS.kind, meta)
    lost = strays(observed.pods, selector_in(stateful.spec))
    numbered = {
        number: pod
        for pod in observed.pods
        if pod not in lost and (number := _number_of(meta.name, pod.metadata.name)) is not None
    }
    return NumberedPods(stateful, document, numbered, lost, history_of(document, owner, meta, observed), now)


def _number_of(name: str, pod: str) -> int | None:
    stem, _, number = pod.rpartition("-")
    return int(number) if stem == name and number.isdecimal() else None
