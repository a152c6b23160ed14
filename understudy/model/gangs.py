"""Gangs: all the pods of one job, in islands that sit together, with everything placement needs to know of each."""

import enum
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from understudy.model.nodes import CapacityPolicy, Toleration
from understudy.model.selectors import NodeTerm, Selector


class PodTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One required or preferred term of pod affinity or anti-affinity."""

    topology_key: str
    selector: Selector | None = None  # None matches no pod
    namespaces: tuple[str, ...] = ()
    every_namespace: bool = False

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.selector is None:
            return False
        return (self.every_namespace or namespace in self.namespaces) and self.selector.matches(labels)


class SpreadConstraint(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One topology spread constraint. `hard` is DoNotSchedule; otherwise it only affects the score."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: Selector | None = None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


class HostPort(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"

    def clashes(self, other: "HostPort") -> bool:
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip)


class Shape(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """What a pod requires of a node. Pods of one template share one Shape, so identity is compared first."""

    requests: tuple[tuple[str, int], ...] = ()  # sorted by name; cpu in thousandths, the rest in whole units
    accelerators: int = 0
    required: tuple[NodeTerm, ...] = ()  # any one term must match; empty: every node matches
    selector: tuple[tuple[str, str], ...] = ()  # nodeSelector: every label must match
    volumes: tuple[tuple[NodeTerm, ...], ...] = ()  # for each volume, the nodes that can use it
    unmade: tuple[tuple[str, str | None], ...] = ()  # claims whose volume is created for the chosen node; that node
    tolerations: tuple[Toleration, ...] = ()
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_affinity: tuple[tuple[int, PodTerm], ...] = ()  # negative weights: preferred anti-affinity
    spreads: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()  # requirements that cannot be met or are not supported, in words
    capacity: CapacityPolicy = CapacityPolicy.ANY

    @property
    def has_inter_pod_rules(self) -> bool:
        """Whether placement depends on pods on other nodes."""
        return bool(self.affinity or self.anti_affinity or self.spreads)


class PodCreation(enum.StrEnum):
    """When a controller creates the pods of a stage, relative to the pods of earlier stages."""

    AT_ONCE = ""
    WHEN_SEATED = "seated"
    WHEN_READY = "ready"
    WHEN_DONE = "done"


class Member(msgspec.Struct, frozen=True, gc=False):
    """One pod of a gang: an existing pod, or one that its owner will create."""

    name: str
    shape: Shape
    labels: Mapping[str, str] = {}
    node: str = ""  # its seat; empty: none
    last_node: str = ""  # its previous seat, which a restart prefers
    exists: bool = True  # False: derived from the template
    place: str = ""  # its slot in the job, which outlives the pod; empty: slots are interchangeable
    stage: int = 0  # a controller creates the pods of a stage after those of lower stages
    made: PodCreation = PodCreation.AT_ONCE


class TopologyMode(enum.StrEnum):
    PREFERRED = "preferred"
    REQUIRED = "required"
    EXCLUSIVE = "exclusive"


class Topology(msgspec.Struct, frozen=True, gc=False):
    key: str
    mode: TopologyMode

    @property
    def binding(self) -> bool:
        return self.mode is not TopologyMode.PREFERRED


class Island(msgspec.Struct, frozen=True, gc=False):
    """Members that sit together in one domain, if `topology` says so."""

    name: str
    members: tuple[Member, ...]
    topology: Topology | None = None


class Suspension(enum.StrEnum):
    NONE = ""
    BY_OWNER = "owner"  # suspended by its user: Understudy leaves it alone
    REQUEUED = "requeued"  # suspended by Understudy after a preemption, and resumed when it fits


class OnPreemption(enum.StrEnum):
    REQUEUE = "requeue"
    FAIL = "fail"


class Gang(msgspec.Struct, frozen=True, gc=False):
    """All pods of one job: the unit of queueing, placing, preempting and repairing."""

    key: str  # Kind/namespace/name
    kind: str
    namespace: str
    name: str
    islands: tuple[Island, ...] = ()
    priority: int = 0
    queued_at: float = 0.0  # its position in the queue, kept through preemptions
    min_members: int | None = None  # None: all of them
    preempts: bool = True  # preemptionPolicy
    managed: bool = True  # False: another scheduler places it; it counts and never moves
    infrastructure: bool = False  # daemons and the like: they run on every node, own no domain and block none
    suspension: Suspension = Suspension.NONE
    gates: tuple[str, ...] = ()  # scheduling gates that other controllers have to remove first
    awaits: tuple[str, ...] = ()  # what else has to happen before it may start, in words
    whole: bool = False  # its members are never preempted one by one, even if it is elastic
    on_preemption: OnPreemption = OnPreemption.REQUEUE
    started_at: float | None = None
    checkpoint_at: float | None = None
    checkpoint_requests: tuple[tuple[str, float], ...] = ()  # (member, until when): seated pods that were asked to save
    grace: float = 30.0  # seconds: the longest grace period of its pods
    leaving: tuple[Member, ...] = ()  # terminating pods, which still occupy their seats
    holds: tuple[tuple[str, str], ...] = ()  # (member, node): seats kept for it
    displaced: bool = False  # a failure cost it its seats, and it has had no others since
    preempted_for_it: tuple[float, ...] = ()  # when other gangs were preempted for this gang
    failures: tuple[float, ...] = ()  # when it failed on healthy nodes
    stalls: tuple[float, ...] = ()  # when it gave up its seats because its controller did not create all of its pods
    stalled: bool = False  # its controller has not created the pods of the next stage in time
    warm_for: str = ""  # for a warm understudy: the key of its gang. Its seats count as free
    max_spot_members: int | None = None  # how many of its members may sit on spot nodes; None: all of them
    one_capacity_kind: bool = False  # its members sit all on spot nodes, or all on on-demand nodes
    preemption_delay: float | None = None  # seconds; None: as the policy says
    unseated_since: float = 0.0  # since when it waits: queued, preempted or displaced, or its oldest pod without a seat

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def members(self) -> Iterator[Member]:
        for island in self.islands:
            yield from island.members

    @property
    def size(self) -> int:
        return sum(len(island.members) for island in self.islands)

    @property
    def minimum(self) -> int:
        return self.size if self.min_members is None else min(self.min_members, self.size)

    @property
    def elastic(self) -> bool:
        return self.min_members is not None and self.min_members < self.size

    def shapes(self) -> Iterator[Shape]:
        """The shapes of its members; once for members in a row that share a shape."""
        last = None
        for island in self.islands:
            for member in island.members:
                if member.shape is not last:
                    last = member.shape
                    yield last

    def shape_counts(self) -> list[tuple[Shape, int]]:
        """The shapes of its members, each object once, with the number of members that have it."""
        shapes = {id(shape): shape for shape in self.shapes()}
        if len(shapes) == 1:
            return [(shape, self.size) for shape in shapes.values()]
        counts = Counter(id(m.shape) for m in self.members())
        return [(shape, counts[key]) for key, shape in shapes.items()]

    def seated(self) -> list[Member]:
        return [m for island in self.islands for m in island.members if m.node]

    def unseated(self) -> list[Member]:
        return [m for island in self.islands for m in island.members if not m.node]

    def reserved(self) -> list[tuple[Member, str]]:
        """Held seats of unseated members, while other members sit. To take one would leave a part running."""
        if not self.holds or not any(m.node for m in self.members()):
            return []
        holds = dict(self.holds)
        return [(m, holds[m.name]) for m in self.members() if not m.node and m.name in holds]

    def occupied(self) -> list[str]:
        """The nodes of its seats, reserved seats included."""
        return [m.node for m in self.seated()] + [node for _, node in self.reserved()]

    def reseated(self, seats: Mapping[str, str]) -> "Gang":
        """The same gang with the named members on the given nodes. '' removes the seat and remembers its node."""
        islands = tuple(
            msgspec.structs.replace(island, members=tuple(_with_seat(m, seats) for m in island.members))
            for island in self.islands
        )
        return msgspec.structs.replace(self, islands=islands)


def _with_seat(member: Member, seats: Mapping[str, str]) -> Member:
    node = seats.get(member.name, member.node)
    if node == member.node:
        return member
    return msgspec.structs.replace(member, node=node, last_node=member.node or member.last_node)
