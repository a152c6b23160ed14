"""Pods and events as reading verbs see them: the fields that are shown, and nothing that is not."""

from collections.abc import Mapping

import msgspec

from understudy.objects.meta import Condition, ObjectMeta, Part, Time
from understudy.objects.pods import PodSpec


class Running(Part, frozen=True, gc=False):
    started_at: Time | None = None


class Waiting(Part, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class Terminated(Part, frozen=True, gc=False):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(Part, frozen=True, gc=False):
    running: Running | None = None
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Part, frozen=True, gc=False):
    name: str = ""
    restart_count: int = 0
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Part, frozen=True, gc=False):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class SeenPod(Part, frozen=True, gc=False, kw_only=True):
    """Items of a list do not say that they are pods."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")


class Involved(Part, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class Source(Part, frozen=True, gc=False):
    component: str = ""


class Series(Part, frozen=True, gc=False):
    count: int = 0
    last_observed_time: Time | None = None


class SeenEvent(Part, frozen=True, gc=False, kw_only=True):
    metadata: ObjectMeta
    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""
    type: str = "Normal"
    source: Source = Source()
    reporting_component: str = ""
    count: int | None = None
    series: Series | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    event_time: Time | None = None

    @property
    def at(self) -> float:
        """When it happened last. Old and new writers of events use different fields for it."""
        newest = self.series.last_observed_time if self.series else None
        moment = newest or self.last_timestamp or self.event_time or self.first_timestamp
        moment = moment or self.metadata.creation_timestamp
        return moment.timestamp() if moment else 0.0

    @property
    def began(self) -> float:
        moment = self.first_timestamp or self.event_time or self.metadata.creation_timestamp
        return moment.timestamp() if moment else self.at

    @property
    def times(self) -> int:
        return max(self.count or 1, self.series.count if self.series else 1)


class NodeAddress(Part, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class NodeTaint(Part, frozen=True, gc=False):
    key: str
    effect: str = ""
    value: str = ""


class NodeSpec(Part, frozen=True, gc=False):
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeStatus(Part, frozen=True, gc=False):
    addresses: tuple[NodeAddress, ...] = ()
    allocatable: Mapping[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()


class SeenNode(Part, frozen=True, gc=False, kw_only=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
