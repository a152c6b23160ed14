"""Plans: what to do now, and why gangs have to wait. A plan is data; control/apply carries it out."""

import enum

import msgspec

Seats = tuple[tuple[str, str], ...]  # (member, node), sorted by member


class Cost(msgspec.Struct, frozen=True, order=True, gc=False):
    """The cost of a choice of victims. Fields are compared in order: this order is the policy of preemption."""

    young: int = 0  # gangs that have not had their minimum run time
    budget_violations: int = 0
    highest_priority: int = -(2**31)  # of the gangs preempted whole
    work_lost: float = 0.0  # accelerator-seconds since the last checkpoint, else since the start
    gangs: int = 0
    surplus: int = 0  # seats taken from elastic gangs that continue with fewer members
    names: tuple[str, ...] = ()  # makes the order total


class Start(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Seat a gang: whole, or as far as an elastic one fits. With `waits_for`, hold the seats until those leave."""

    gang: str
    seats: Seats
    waits_for: tuple[str, ...] = ()


class Grow(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Give an elastic gang more members."""

    gang: str
    seats: Seats


class Preempt(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take seats from `gang` for `by`: all of them, or the surplus of an elastic gang."""

    gang: str
    by: str
    members: tuple[str, ...]  # the members that lose their seats
    nodes: tuple[str, ...]  # their nodes, in the same order
    whole: bool
    why: str
    work_lost: float = 0.0
    budget_violations: int = 0


class SeatSource(enum.StrEnum):
    SPARE = "spare"
    IDLE = "idle"
    VICTIM = "victim"
    WARM = "warm"  # only in records: a warm understudy on this node became the member


class Move(msgspec.Struct, frozen=True, gc=False):
    member: str
    from_node: str  # '' where the seat is lost already
    to_node: str
    source: SeatSource


class Swap(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Replace seats that a running gang lost or is about to lose. With `waits_for`, after those gangs have left."""

    gang: str
    moves: tuple[Move, ...]
    why: str
    waits_for: tuple[str, ...] = ()


class Shrink(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Let an elastic gang continue without the members it lost."""

    gang: str
    members: tuple[str, ...]
    why: str


class Requeue(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take the remaining seats of a damaged gang that cannot be repaired, and queue it.

    `stalled`: its controller has not created all of its pods. No node failed, and the gang waits for a while."""

    gang: str
    members: tuple[str, ...]
    why: str
    stalled: bool = False


class Dismiss(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take the seat of a warm understudy. With `member`, the understudy becomes that member of `by`."""

    gang: str
    node: str
    why: str
    by: str = ""  # the gang that gets the seat, if any
    member: str = ""


class Hold(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Hold seats for a gang against less important gangs. Without seats, the hold is released."""

    gang: str
    seats: Seats
    why: str


class RequestCheckpoint(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Ask a running gang to save a checkpoint by this time, since a node of it leaves. None withdraws the request."""

    gang: str
    by: float | None
    why: str


class WaitCode(enum.StrEnum):
    NO_ROOM = "NoRoom"
    BLOCKED_DOMAINS = "BlockedDomains"
    VICTIMS_LEAVING = "VictimsLeaving"
    STILL_LEAVING = "StillLeaving"
    SUSPENDED = "Suspended"
    GATED = "Gated"
    INCOMPLETE = "Incomplete"
    UNSUPPORTED = "Unsupported"
    GUARDED = "Guarded"
    NO_REPLACEMENT = "NoReplacement"
    CHECKPOINTING = "Checkpointing"


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A gang in seats that another gang could use: how many, and why it keeps them."""

    gang: str
    priority: int
    seats: int
    keeps: str


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Why nodes (or domains) do not fit: `count` of them share this reason. Few of them are named."""

    why: str
    count: int
    names: tuple[str, ...] = ()


class WaitReason(msgspec.Struct, frozen=True, gc=False):
    """Why a gang waits, as a value: what it needs, what is free, which gangs hold the rest, which guard applies."""

    code: WaitCode
    needs: str
    wanted: int = 0  # seats it needs to run (islands, where islands need domains)
    free: int = 0  # how many of those fit now
    refusals: tuple[Refusal, ...] = ()
    holders: tuple[Holder, ...] = ()
    guard: str = ""
    until: float | None = None
    infeasible: str = ""  # why no node could take a pod of it however empty the cluster is


class Wait(msgspec.Struct, frozen=True, tag=True, gc=False):
    gang: str
    reason: WaitReason


Action = Start | Grow | Preempt | Swap | Shrink | Requeue | Dismiss | Hold | RequestCheckpoint | Wait


class Plan(msgspec.Struct, frozen=True):
    """The actions in the order of decision. Without a change of the cluster, the plan is valid until `recheck_at`."""

    actions: tuple[Action, ...] = ()
    recheck_at: float | None = None
