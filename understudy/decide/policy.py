"""The settings of the decision with their defaults; `understudy.yaml` sets them."""

from typing import Annotated

import msgspec

from understudy.model.nodes import CapacityPolicy


class SpareRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keep `count` nodes with these labels free for repairs; with `topology`, `count` whole domains of it."""

    count: Annotated[int, msgspec.Meta(ge=1)]
    labels: dict[str, str] = {}
    topology: str = ""
    per: str = ""  # a node label: `count` for each of its values; nodes without the label are not considered
    lend: bool | None = None  # None: as the policy's lendSpares says

    def __post_init__(self) -> None:
        if self.per and self.per == self.topology:
            raise ValueError("per: the same label as topology; leave one of them out")


class CapacityRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The capacity that jobs of a priority below this ask for, where they say nothing themselves."""

    below: int
    capacity: CapacityPolicy


class PriceRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a node with these labels costs an hour."""

    price: Annotated[float, msgspec.Meta(ge=0)]
    labels: dict[str, str] = {}


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Times are seconds."""

    # Kinds of capacity
    capacity_by_priority: tuple[CapacityRule, ...] = ()  # the first entry that matches decides
    prices: tuple[PriceRule, ...] = ()  # the first entry that matches decides
    # Preempting
    preemption_delay: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # so long a gang waits for machines before it preempts
    min_runtime: float = 120.0  # a younger gang is a victim only where no other choice exists
    preemptions_per_hour: int = 16  # how many gangs may be preempted for one gang within an hour
    # Spares
    spares: tuple[SpareRule, ...] = ()
    lend_spares: bool = True  # where neither the rule nor the node's label says otherwise
    lend_below: int = 0  # gangs of lower priority than this may borrow a spare
    # Nodes that fail
    node_cooldown: float = 600.0  # a node that failed this recently is the last choice
    lemon_failures: int = 3  # a node that failed this often within the window gets no seats
    lemon_window: float = 86_400.0
    # Gangs that fail on healthy nodes wait backoff * 2^(failures - 1), from the second failure within the window on
    backoff: float = 10.0
    backoff_limit: float = 600.0
    backoff_window: float = 3_600.0
    # Mass failure: when so many nodes of a pool turn bad at once, the network or the monitor is the cause
    pool_label: str = "node.kubernetes.io/instance-type"
    mass_failure_share: float = 0.4
    mass_failure_nodes: int = 10
    mass_failure_window: float = 300.0
    # Notices: members move when the time that is left is their grace period and this many seconds
    notice_margin: float = 5.0
    # Search: limits of the exact searches, beyond which the heuristics take over
    exact_victims: int = 10
    search_steps: int = 20_000

    def default_capacity(self, priority: int) -> CapacityPolicy:
        """What jobs of this priority ask for where they say nothing themselves."""
        found = (rule.capacity for rule in self.capacity_by_priority if priority < rule.below)
        return next(found, CapacityPolicy.ANY)

    @property
    def index(self) -> list[str]:
        """The node labels that a snapshot should index domains by."""
        keys = {self.pool_label, *(key for rule in self.spares for key in (rule.topology, rule.per))}
        return sorted(keys - {""})


DEFAULT_POLICY = Policy()
