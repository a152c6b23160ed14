"""Nodes as the scheduler sees them: resources, labels, taints, health."""

import enum
import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

_ACCELERATOR = re.compile(r"gpu|tpu|npu|xpu|dcu|mig-|neuron|gaudi|ascend|accelerator", re.IGNORECASE)


@lru_cache(maxsize=1024)
def is_accelerator(resource: str) -> bool:
    """Whether an extended resource is training hardware, unlike for example an RDMA device."""
    return "/" in resource and _ACCELERATOR.search(resource) is not None


class Taint(msgspec.Struct, frozen=True, gc=False):
    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """An empty key with operator Exists tolerates every taint; an empty effect tolerates every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value


class Verdict(enum.StrEnum):
    HEALTHY = "healthy"
    SUSPECT = "suspect"  # gets no new seats; replacements are planned ahead
    LOST = "lost"  # its seats are lost
    LEAVING = "leaving"  # its seats will be lost at a known time


class Health(msgspec.Struct, frozen=True, gc=False):
    verdict: Verdict = Verdict.HEALTHY
    cause: str = ""
    since: float | None = None
    deadline: float | None = None  # set for LEAVING


class Fence(msgspec.Struct, frozen=True, gc=False):
    """Pods were force-deleted on a lost node. When the node comes back, they may still run for a while."""

    at: float  # when the last of them was deleted
    grace: int  # seconds: the longest grace period among them
    boot: str = ""  # the boot ID of the node when they ran; '': unknown
    returned: float | None = None  # since when the node reports again


class SpareRole(enum.StrEnum):
    NONE = ""
    LENDABLE = "true"  # kept free for repairs; lent to gangs of a priority below the policy's `lendBelow`
    KEPT = "keep"  # kept free for repairs, never lent


class Capacity(enum.StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"  # cheap, and its owner may take it back at short notice


class CapacityPolicy(enum.StrEnum):
    """On which kind of capacity a pod may sit."""

    ANY = "any"
    SPOT = "spot"
    ON_DEMAND = "on-demand"
    PREFER_SPOT = "prefer-spot"  # on spot nodes where they have room, else anywhere


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A machine will go: by when, which source said so, and why."""

    deadline: float
    source: str = ""  # azure, aws, gcp, rehearsal
    cause: str = ""  # the event in the words of the source
    at: float | None = None  # when the source announced it, as far as that is known


class Node(msgspec.Struct, frozen=True, gc=False):
    name: str
    labels: Mapping[str, str] = {}
    allocatable: Mapping[str, int] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    health: Health = Health()
    spare: SpareRole = SpareRole.NONE
    failures: tuple[float, ...] = ()  # when it failed, oldest first
    capacity: Capacity = Capacity.ON_DEMAND

    @property
    def usable(self) -> bool:
        """Whether new seats may be given here at all. Cordons do not count, since pods can tolerate them."""
        return self.health.verdict is Verdict.HEALTHY

    @property
    def flavor(self) -> str:
        """The resource that defines this node: its accelerator, else cpu."""
        accelerators = [name for name in self.allocatable if is_accelerator(name)]
        return min(accelerators, key=lambda name: (-self.allocatable[name], name)) if accelerators else "cpu"
