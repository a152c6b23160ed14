"""Node leases: turns the moments at which a node was alive into renewals of its lease, as often as needed."""

import contextlib
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from understudy.embedded.shim import messages
from understudy.kinds.annotations import format_time
from understudy.objects.resources import LEASES, NAMESPACES
from understudy.ports import Cluster, PatchForm, Ref, Refused

LEASE_NAMESPACE = "kube-node-lease"
RENEWALS_PER_LEASE = 4  # the leases expire after so many intervals
_SHORTEST_RENEWAL = 1.0
_MOST_WRITES = 25.0  # renewals a second, over all nodes


def renewal_seconds(nodes: int) -> float:
    """Seconds between two renewals of one lease: longer where there are many nodes, to bound the writes a second."""
    return max(_SHORTEST_RENEWAL, nodes / _MOST_WRITES)


def lease_document(node: str, nodes: int, now: float) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": LEASE_NAMESPACE},
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": round(renewal_seconds(nodes) * RENEWALS_PER_LEASE),
            "renewTime": format_time(now),
        },
    }


class NodeLeases:
    def __init__(self, cluster: Cluster, count: int, now: Callable[[], float] = time.time) -> None:
        """`count` is the number of nodes."""
        self._cluster = cluster
        self._count = count
        self._now = now
        self._renewed: dict[str, float] = {}

    def is_due(self, name: str, moment: float) -> bool:
        """Whether the lease is due for renewal: where there are many nodes, not every heartbeat renews it."""
        return moment - self._renewed.get(name, 0.0) >= renewal_seconds(self._count) - messages.HEARTBEAT_SECONDS / 2

    async def renew(self, name: str, moment: float | None = None) -> None:
        """`moment` is when the node was last known to be alive; default is now."""
        moment = self._now() if moment is None else moment
        lease = lease_document(name, self._count, moment)
        try:
            ref = Ref(LEASES, LEASE_NAMESPACE, name)
            await self._cluster.patch(ref, {"spec": lease["spec"]}, form=PatchForm.MERGE)
        except Refused as refusal:
            if refusal.code != HTTPStatus.NOT_FOUND:
                raise
            await self._create(lease)
        self._renewed[name] = moment

    async def _create(self, lease: Mapping[str, Any]) -> None:
        try:
            await self._cluster.create(Ref(LEASES, LEASE_NAMESPACE), lease)
        except Refused as refusal:
            if refusal.code == HTTPStatus.CONFLICT:  # the first heartbeat and the registration come at the same time
                return
            if refusal.code != HTTPStatus.NOT_FOUND:
                raise
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE_NAMESPACE}}
            with contextlib.suppress(Refused):
                await self._cluster.create(Ref(NAMESPACES), namespace)
            with contextlib.suppress(Refused):
                await self._cluster.create(Ref(LEASES, LEASE_NAMESPACE), lease)
