"""Which buckets of nodes have room for a pod: turns a Shape into buckets, the best fit first."""

from understudy.model.gangs import Shape
from understudy.model.node_info import CapacityBucket
from understudy.model.nodes import is_accelerator
from understudy.model.snapshot import Snapshot


def buckets_for(shape: Shape, snapshot: Snapshot) -> list[CapacityBucket]:
    """The buckets with enough free, best fit first. Nodes with another kind of accelerator come last."""
    asked = {name: amount for name, amount in shape.requests if is_accelerator(name)}
    cpu = dict(shape.requests).get("cpu", 0).bit_length()

    def order(bucket: CapacityBucket) -> tuple[bool, int, str]:
        flavor, level = bucket
        return (flavor not in asked if asked else flavor != "cpu", level, flavor)

    def too_little(bucket: CapacityBucket) -> bool:
        flavor, level = bucket
        return level < (cpu if flavor == "cpu" else asked.get(flavor, 0))

    return sorted((bucket for bucket in snapshot.buckets if not too_little(bucket)), key=order)


def is_unwanted(shape: Shape, bucket: CapacityBucket) -> bool:
    """Whether its nodes are of a flavor that the shape does not ask for."""
    asked = [name for name, _ in shape.requests if is_accelerator(name)]
    return bucket[0] not in asked if asked else bucket[0] != "cpu"
