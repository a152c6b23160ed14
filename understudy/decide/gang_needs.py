"""What a gang needs, in words: its islands, its pods, and what each of them asks for."""

from collections import Counter
from collections.abc import Iterable, Iterator

from understudy.model.gangs import Gang, Island, Shape, TopologyMode
from understudy.model.nodes import CapacityPolicy, is_accelerator
from understudy.model.quantity import format_quantity


def needs(gang: Gang) -> str:
    """«3 islands, each alone in one rack, 6 pods with 4 cpu each»; lists shapes only where they differ."""
    wanted = [_together(gang.islands)]
    shapes: Counter[tuple[str, CapacityPolicy]] = Counter()
    for shape, count in gang.shape_counts():
        shapes[_asks(shape), shape.capacity] += count
    wanted.append(" and ".join(_pods(count, *asks) for asks, count in sorted(shapes.items(), reverse=True)))
    if gang.elastic:
        wanted.append(f"at least {gang.minimum} of {gang.size}")
    return ", ".join(part for part in [*wanted, *_capacity_rules(gang)] if part)


def _capacity_rules(gang: Gang) -> Iterator[str]:
    if gang.max_spot_members is not None:
        yield f"at most {gang.max_spot_members} of them on spot"
    if gang.one_capacity_kind:
        yield "all on spot or all on on-demand capacity"


def _pods(count: int, asks: str, capacity: CapacityPolicy) -> str:
    pods = f"{count} pod{'s' * (count != 1)}"
    each = " each" if count != 1 else ""
    where = f" on {capacity} capacity" if capacity in (CapacityPolicy.SPOT, CapacityPolicy.ON_DEMAND) else ""
    return (f"{pods} with {asks}{each}" if asks else pods) + where


def _asks(shape: Shape) -> str:
    shown = sorted((n for n, _ in shape.requests if n != "pods"), key=lambda n: (not is_accelerator(n), n))
    amounts = dict(shape.requests)
    return " + ".join(f"{format_quantity(amounts[name], name)} {name}" for name in shown[:3])


def _together(islands: Iterable[Island]) -> str:
    kinds = Counter((i.topology.mode, i.topology.key) for i in islands if i.topology is not None)
    words = {
        TopologyMode.EXCLUSIVE: "alone in one",
        TopologyMode.REQUIRED: "within one",
        TopologyMode.PREFERRED: "preferably within one",
    }
    return ", ".join(
        f"{f'{count} islands, each' if count > 1 else '1 island'} {words[mode]} {key}"
        for (mode, key), count in kinds.items()
    )
