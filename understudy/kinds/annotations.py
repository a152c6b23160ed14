"""The understudy.dev annotations on jobs and lone pods, as typed values: written by users and by Understudy."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from understudy.model.gangs import OnPreemption, Topology, TopologyMode
from understudy.model.nodes import CapacityPolicy, Fence, Notice
from understudy.objects.errors import BadObject

PREFIX = "understudy.dev/"
QUEUED_AT = f"{PREFIX}queued-at"
REQUEUED_AT = f"{PREFIX}requeued-at"
DISPLACED_AT = f"{PREFIX}displaced-at"
PREEMPTED_FOR = f"{PREFIX}preempted-for"
FAILED_AT = f"{PREFIX}failed-at"
STALLED_AT = f"{PREFIX}stalled-at"
FENCED = f"{PREFIX}fenced"  # on a node: pods were force-deleted there while it was lost
NOTICE = f"{PREFIX}notice"  # on a node: its machine will go
CHECKPOINT_BY = f"{PREFIX}checkpoint-by"  # on a pod: until when its job should have saved
HOLDS = f"{PREFIX}holds"
LAST_SEATS = f"{PREFIX}last-seats"
CAPACITY = f"{PREFIX}capacity"  # on a job, a pod or a pod template: on which kind of capacity it may sit
EXCLUSIVE_TOPOLOGY = f"{PREFIX}exclusive-topology"
WARM = f"{PREFIX}warm"  # on a job: how many understudies are kept ready
WARM_FOR = f"{PREFIX}warm-for"  # on an understudy: the key of the gang it is one of
UNDERSTUDY_OF = f"{PREFIX}understudy-of"  # a label: the name of its job
WARM_IMPORTS = f"{PREFIX}warm-imports"  # modules that an understudy imports in addition to those of its program
STEPS_IN = f"{PREFIX}steps-in"  # on a pod: the uid of the understudy that becomes it
PYTHON_ENV = f"{PREFIX}python-env"  # on a pod: with which other pods it shares what it installs with pip
MAX_UNDERSTUDIES = 64
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION_PART = re.compile(r"([0-9]{1,9})([smhd])")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+")
_TOPOLOGIES = {
    f"{PREFIX}{mode}-topology": mode for mode in (TopologyMode.EXCLUSIVE, TopologyMode.REQUIRED, TopologyMode.PREFERRED)
}


class HasTitle(Protocol):
    """An object whose annotations are read; its title is used in error messages."""

    @property
    def title(self) -> str: ...


class MemberLimit(msgspec.Struct, frozen=True):
    """A number of members, or a share of all members in percent, rounded down."""

    amount: int
    percent: bool = False

    def of(self, size: int) -> int:
        return size * self.amount // 100 if self.percent else self.amount


class JobAnnotations(msgspec.Struct, frozen=True):
    topology: Topology | None = None
    min_members: int | None = None
    on_preemption: OnPreemption = OnPreemption.REQUEUE
    checkpoint_at: float | None = None
    queued_at: float | None = None
    requeued: bool = False
    displaced: bool = False
    preempted_for_it: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()
    stalls: tuple[float, ...] = ()
    holds: tuple[tuple[str, str], ...] = ()
    last_seats: tuple[tuple[str, str], ...] = ()
    warm_for: str = ""
    capacity: CapacityPolicy | None = None
    critical_members: int = 0
    max_spot_members: MemberLimit | None = None
    one_capacity_kind: bool = False
    preemption_delay: float | None = None
    unseated_at: float | None = None  # when it was preempted or displaced last


NO_ANNOTATIONS = JobAnnotations()


def read_annotations(annotations: Mapping[str, str], titled: HasTitle) -> JobAnnotations:
    if not annotations or not any(key.startswith(PREFIX) for key in annotations):
        return NO_ANNOTATIONS
    reader = _Reader(annotations, titled)
    return JobAnnotations(
        topology=reader.topology(),
        min_members=reader.count("min-members"),
        on_preemption=reader.on_preemption(),
        checkpoint_at=reader.time("last-checkpoint"),
        queued_at=reader.time("queued-at"),
        requeued=reader.time("requeued-at") is not None,
        displaced=reader.time("displaced-at") is not None,
        preempted_for_it=reader.times("preempted-for"),
        failures=reader.times("failed-at"),
        stalls=reader.times("stalled-at"),
        holds=reader.seats("holds"),
        last_seats=reader.seats("last-seats"),
        warm_for=annotations.get(WARM_FOR, "").strip(),
        capacity=read_capacity(annotations, titled.title) if CAPACITY in annotations else None,
        critical_members=reader.count("critical-members") or 0,
        max_spot_members=reader.member_limit("max-spot-members"),
        one_capacity_kind=reader.capacity_mix() == "one-kind",
        preemption_delay=reader.duration("preemption-delay"),
        unseated_at=max((reader.time(n) or 0.0 for n in ("requeued-at", "displaced-at")), default=0.0) or None,
    )


def read_capacity(annotations: Mapping[str, str], title: str, field: str = "metadata") -> CapacityPolicy:
    """`field` is the path of the metadata in the object."""
    text = annotations[CAPACITY].strip()
    if text not in tuple(CapacityPolicy):
        problem = f"{text!r} is no kind of capacity; write spot, on-demand, any or prefer-spot"
        raise BadObject(title, f"{field}.annotations[{CAPACITY}]", problem)
    return CapacityPolicy(text)


def read_times(annotations: Mapping[str, str], name: str, titled: HasTitle) -> tuple[float, ...]:
    """The times that an understudy.dev annotation lists, oldest first."""
    return _Reader(annotations, titled).times(name)


def read_time(annotations: Mapping[str, str], name: str, titled: HasTitle) -> float | None:
    return _Reader(annotations, titled).time(name)


def read_fence(annotations: Mapping[str, str], titled: HasTitle) -> Fence | None:
    return _Reader(annotations, titled).fence() if FENCED in annotations else None


def read_notice(annotations: Mapping[str, str], titled: HasTitle) -> Notice | None:
    return _Reader(annotations, titled).notice() if NOTICE in annotations else None


def checkpoint_request(annotations: Mapping[str, str]) -> float | None:
    """Until when a pod was asked to save. What is no time counts as one long ago, and is written anew."""
    if CHECKPOINT_BY not in annotations:
        return None
    try:
        return datetime.fromisoformat(annotations[CHECKPOINT_BY]).timestamp()
    except ValueError:
        return 0.0


def format_notice(notice: Notice) -> str:
    parts = {"deadline": format_time(notice.deadline), "source": notice.source, "cause": notice.cause}
    if notice.at is not None:
        parts["at"] = format_time(notice.at)
    return ",".join(f"{key}={value}" for key, value in parts.items() if value)


def format_fence(fence: Fence) -> str:
    parts = [f"at={format_time(fence.at)}", f"grace={fence.grace}"]
    parts += [f"boot={fence.boot}"] if fence.boot else []
    parts += [f"returned={format_time(fence.returned)}"] if fence.returned is not None else []
    return ",".join(parts)


def format_time(moment: float) -> str:
    """As Kubernetes writes times: in whole seconds, unless that loses precision."""
    if moment == int(moment):
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def format_times(moments: Iterable[float]) -> str:
    return ",".join(format_time(moment) for moment in sorted(moments))


def format_seats(seats: Mapping[str, str]) -> str:
    return ",".join(f"{member}={seats[member]}" for member in sorted(seats))


def wanted_understudies(annotations: Mapping[str, str], titled: HasTitle) -> int:
    """How many warm understudies a job asks for; raises BadObject."""
    text = annotations.get(WARM, "0").strip()
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_UNDERSTUDIES):
        problem = f"{text!r} is not a number of understudies; write 0 to {MAX_UNDERSTUDIES}"
        raise BadObject(titled.title, f"metadata.annotations[{WARM}]", problem)
    return int(text)


class _Reader:
    def __init__(self, annotations: Mapping[str, str], titled: HasTitle) -> None:
        self._annotations = annotations
        self._titled = titled

    def _bad(self, name: str, problem: str) -> BadObject:
        return BadObject(self._titled.title, f"metadata.annotations[{PREFIX}{name}]", problem)

    def _text(self, name: str) -> str:
        return self._annotations.get(PREFIX + name, "").strip()

    def topology(self) -> Topology | None:
        given = [(key, mode) for key, mode in _TOPOLOGIES.items() if key in self._annotations]
        if len(given) > 1:
            both = " and ".join(key for key, _ in given)
            raise BadObject(self._titled.title, "metadata.annotations", f"has {both}; keep one of them")
        for key, mode in given:
            if not (label := self._annotations[key].strip()):
                raise BadObject(self._titled.title, f"metadata.annotations[{key}]", "is empty; name a node label")
            return Topology(label, mode)
        return None

    def count(self, name: str) -> int | None:
        text = self._text(name)
        if not text and PREFIX + name not in self._annotations:
            return None
        if not (text.isascii() and text.isdigit() and int(text)):
            raise self._bad(name, f"{text!r} is not a number of members; write 1 or more")
        return int(text)

    def member_limit(self, name: str) -> MemberLimit | None:
        text = self._text(name)
        if not text and PREFIX + name not in self._annotations:
            return None
        digits, percent = text.removesuffix("%"), text.endswith("%")
        if not (digits.isascii() and digits.isdigit()) or (percent and int(digits) > 100):
            raise self._bad(name, f"{text!r} is not a number of members; write 0 or more, or a share such as 50%")
        return MemberLimit(int(digits), percent)

    def capacity_mix(self) -> str:
        text = self._annotations.get(f"{PREFIX}capacity-mix", "allow").strip()
        if text not in ("allow", "one-kind"):
            raise self._bad("capacity-mix", f"{text!r} is neither allow nor one-kind")
        return text

    def duration(self, name: str) -> float | None:
        """Seconds."""
        text = self._text(name)
        if not text and PREFIX + name not in self._annotations:
            return None
        if text != "0" and not _DURATION.fullmatch(text):
            raise self._bad(name, f"{text!r} is not a length of time; write it like 90s, 5m or 1h30m")
        return float(sum(int(amount) * _SECONDS[unit] for amount, unit in _DURATION_PART.findall(text)))

    def on_preemption(self) -> OnPreemption:
        text = self._annotations.get(f"{PREFIX}on-preemption", OnPreemption.REQUEUE)
        if text not in tuple(OnPreemption):
            raise self._bad("on-preemption", f"{text!r} is neither requeue nor fail")
        return OnPreemption(text)

    def time(self, name: str) -> float | None:
        text = self._text(name)
        return self._moment(name, text) if text else None

    def times(self, name: str) -> tuple[float, ...]:
        parts = (part.strip() for part in self._text(name).split(","))
        return tuple(sorted(self._moment(name, part) for part in parts if part))

    def _moment(self, name: str, text: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise self._bad(name, f"{text!r} is not a time; write it like 2026-01-31T12:00:00Z")
        return moment.timestamp()

    def seats(self, name: str) -> tuple[tuple[str, str], ...]:
        found = []
        for part in self._text(name).split(","):
            if not part.strip():
                continue
            member, _, node = (piece.strip() for piece in part.partition("="))
            if not member or not node:
                raise self._bad(name, f"{part.strip()!r} is not of the form member=node")
            found.append((member, node))
        return tuple(found)

    def fence(self) -> Fence:
        parts = dict(piece.strip().partition("=")[::2] for piece in self._text("fenced").split(","))
        if "at" not in parts or not parts.get("grace", "").isdecimal():
            raise self._bad("fenced", "is not of the form at=TIME,grace=SECONDS,boot=ID,returned=TIME")
        returned = self._moment("fenced", parts["returned"]) if "returned" in parts else None
        return Fence(self._moment("fenced", parts["at"]), int(parts["grace"]), parts.get("boot", ""), returned)

    def notice(self) -> Notice:
        parts = dict(piece.strip().partition("=")[::2] for piece in self._text("notice").split(","))
        if "deadline" not in parts:
            raise self._bad("notice", "is not of the form deadline=TIME,source=NAME,cause=WORD,at=TIME")
        deadline = self._moment("notice", parts["deadline"])
        at = self._moment("notice", parts["at"]) if "at" in parts else None
        return Notice(deadline, parts.get("source", ""), parts.get("cause", ""), at)
