"""Volumes that are made only where their first pod is to be: turns seats into orders for them, written on their claims.

Until they are there the gang waits, with its seats kept: a volume may come to be where not all of its pods can reach
it, or not at all, and then they are seated anew.
"""

from collections.abc import Container, Iterable
from functools import partial

import msgspec

from understudy.control.desk import Desk
from understudy.control.together import together
from understudy.objects.pods import Pod
from understudy.objects.volumes import NamedClaim


class Order(msgspec.Struct, frozen=True):
    volume: NamedClaim
    node: str
    namespace: str

    @property
    def words(self) -> str:
        title = f"PersistentVolumeClaim {self.namespace}/{self.volume.name}"
        if self.volume.claim is None:
            return f"{title} has yet to be made, which comes with the pod"
        return f"the volume of {title} has yet to be made, for node {self.volume.node or self.node}"


def outstanding(desk: Desk, seats: Iterable[tuple[Pod, str]]) -> list[Order]:
    """One order a claim; of several pods that share it, the first says where."""
    found: dict[str, Order] = {}
    for pod, node in seats:
        for volume in desk.view.unmade_volumes(pod):
            found.setdefault(volume.name, Order(volume, node, pod.metadata.namespace))
    return list(found.values())


async def place(desk: Desk, orders: Iterable[Order], nodes: Container[str]) -> bool:
    """Whether there was anything to write. Who has been told a node that is there is not told another: its volume may
    be on its way."""
    new = [(one.volume.claim, one.node) for one in orders if one.volume.claim and one.volume.node not in nodes]
    await together(partial(desk.select_node, *one) for one in new)
    return bool(new)
