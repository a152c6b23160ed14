"""Plans: what Understudy would do now, and why whoever waits has to. A plan is data; carrying it out is elsewhere."""

import enum

import msgspec

Seats = tuple[tuple[str, str], ...]  # (member, node), sorted by member


class Cost(msgspec.Struct, frozen=True, order=True, gc=False):
    """What a choice of victims costs. Compared field by field: this order is the policy of preemption."""

    young: int = 0  # gangs that have not had their minimum run time
    budget_violations: int = 0
    highest_priority: int = -(2**31)  # of the gangs that go whole
    work_lost: float = 0.0  # accelerator-seconds since the last checkpoint, else since the start
    gangs: int = 0
    surplus: int = 0  # seats taken from elastic gangs that go on with fewer members
    names: tuple[str, ...] = ()  # makes the order total


class Start(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Seat a gang: whole, or as far as an elastic one fits. With `waits_for`, the seats are held until those left."""

    gang: str
    seats: Seats
    waits_for: tuple[str, ...] = ()


class Grow(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Give an elastic gang more members."""

    gang: str
    seats: Seats


class Preempt(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take seats away from `gang` for `by`. All of them, unless it is elastic and only its surplus goes."""

    gang: str
    by: str
    members: tuple[str, ...]  # who loses a seat
    nodes: tuple[str, ...]  # where, in the order of `members`
    whole: bool
    why: str
    work_lost: float = 0.0
    budget_violations: int = 0


class SeatSource(enum.StrEnum):
    SPARE = "spare"
    IDLE = "idle"
    VICTIM = "victim"
    WARM = "warm"  # only in records: an understudy held itself ready there, and became the member


class Move(msgspec.Struct, frozen=True, gc=False):
    member: str
    from_node: str  # '' where the seat is already gone
    to_node: str
    source: SeatSource


class Swap(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Replace the seats a running gang lost or is about to lose. With `waits_for`, once those have left."""

    gang: str
    moves: tuple[Move, ...]
    why: str
    waits_for: tuple[str, ...] = ()


class Shrink(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Let an elastic gang go on without the members it lost."""

    gang: str
    members: tuple[str, ...]
    why: str


class Requeue(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A broken gang that cannot be repaired gives up its seats and queues.

    `stalled`: its controller has not made all of its pods. That is no failure of a node, and costs the gang a pause."""

    gang: str
    members: tuple[str, ...]
    why: str
    stalled: bool = False


class Dismiss(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take a warm understudy's seat. With `member`, it hands the seat over: it becomes that member of `by`."""

    gang: str
    node: str
    why: str
    by: str = ""  # the gang that gets the seat, where it is wanted by somebody
    member: str = ""


class Hold(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Keep seats for a gang, and from everybody less important. No seats: the hold is given up."""

    gang: str
    seats: Seats
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


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A gang that sits where another could: how many of the wanted seats it fills, and why it keeps them."""

    gang: str
    priority: int
    seats: int
    keeps: str


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Why places do not do: `count` nodes (or domains) share this reason."""

    why: str
    count: int


class WaitReason(msgspec.Struct, frozen=True, gc=False):
    """Why a gang waits, as a value: what it needs, what is free, who holds the rest, which guard applies."""

    code: WaitCode
    needs: str
    wanted: int = 0  # seats it needs before it may run (islands, where islands need domains)
    free: int = 0  # how many of those could be given now
    refusals: tuple[Refusal, ...] = ()
    holders: tuple[Holder, ...] = ()
    guard: str = ""
    until: float | None = None


class Wait(msgspec.Struct, frozen=True, tag=True, gc=False):
    gang: str
    reason: WaitReason


Action = Start | Grow | Preempt | Swap | Shrink | Requeue | Dismiss | Hold | Wait


class Plan(msgspec.Struct, frozen=True):
    """The actions in the order they were decided. Unless the cluster changes, it stands until `recheck_at`."""

    actions: tuple[Action, ...] = ()
    recheck_at: float | None = None
