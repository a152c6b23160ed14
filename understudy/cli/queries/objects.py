"""Pods and events as typed values with only the fields that verbs print."""

from collections.abc import Mapping

import msgspec

from understudy.model.nodes import Capacity, Health
from understudy.objects.meta import Condition, ObjectMeta, Part, Time
from understudy.objects.pods import ENDED_PHASES, PodSpec


class RunningState(Part, frozen=True, gc=False):
    started_at: Time | None = None


class WaitingState(Part, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class TerminatedState(Part, frozen=True, gc=False):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(Part, frozen=True, gc=False):
    running: RunningState | None = None
    waiting: WaitingState | None = None
    terminated: TerminatedState | None = None


class ContainerInfo(Part, frozen=True, gc=False):
    name: str = ""
    restart_count: int = 0
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodInfoStatus(Part, frozen=True, gc=False):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerInfo, ...] = ()
    init_container_statuses: tuple[ContainerInfo, ...] = ()


class PodInfo(Part, frozen=True, gc=False, kw_only=True):
    """Items of a list do not say that they are pods."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodInfoStatus = PodInfoStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ENDED_PHASES


class InvolvedObject(Part, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class EventSource(Part, frozen=True, gc=False):
    component: str = ""


class EventSeries(Part, frozen=True, gc=False):
    count: int = 0
    last_observed_time: Time | None = None


class EventInfo(Part, frozen=True, gc=False, kw_only=True):
    metadata: ObjectMeta
    involved_object: InvolvedObject = InvolvedObject()
    reason: str = ""
    message: str = ""
    type: str = "Normal"
    source: EventSource = EventSource()
    reporting_component: str = ""
    count: int | None = None
    series: EventSeries | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    event_time: Time | None = None

    @property
    def at(self) -> float:
        """The time at which the event happened last. Old and new writers of events use different fields for it."""
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


class NodeState(msgspec.Struct, frozen=True):
    """The capacity type of a node, and its health."""

    capacity: Capacity = Capacity.ON_DEMAND
    health: Health = Health()


class NodeAddress(Part, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class NodeTaint(Part, frozen=True, gc=False):
    key: str
    effect: str = ""
    value: str = ""


class NodeInfoSpec(Part, frozen=True, gc=False):
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeInfoStatus(Part, frozen=True, gc=False):
    addresses: tuple[NodeAddress, ...] = ()
    allocatable: Mapping[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()


class NodeInfo(Part, frozen=True, gc=False, kw_only=True):
    metadata: ObjectMeta
    spec: NodeInfoSpec = NodeInfoSpec()
    status: NodeInfoStatus = NodeInfoStatus()
