"""Turns Node documents and leases into health states, by the settings that the cluster's scheduler uses."""

import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.queries.node_states import list_documents
from understudy.cli.queries.objects import NodeState
from understudy.cli.queries.scheduler_state import settings_in_force
from understudy.client import KubeClient
from understudy.control.view.node_capacity import capacity_of
from understudy.control.view.node_fences import NodeFences
from understudy.control.view.node_health import HealthLimits, examine_node, heartbeat, is_silent
from understudy.decide.describe import until_clause
from understudy.decide.guards import failed_lately, lemon
from understudy.decide.policy import Policy
from understudy.kinds.annotations import read_times
from understudy.kinds.decoding import decode
from understudy.model import nodes as model
from understudy.model.nodes import Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.meta import seconds
from understudy.objects.nodes import LEASE_NAMESPACE, Lease, Node
from understudy.objects.resources import LEASES
from understudy.ports import Refused

Document = dict[str, Any]


class NodeHealthReader(msgspec.Struct, frozen=True):
    """Reads the health of a node as the scheduler of the cluster does."""

    leases: Mapping[str, Lease]
    now: float
    limits: HealthLimits
    policy: Policy = Policy()

    def of(self, document: Document) -> NodeState:
        labels = document["metadata"].get("labels") or {}
        return NodeState(capacity_of(labels, self.limits.spot_labels), self._health(document))

    def _health(self, document: Document) -> Health:
        try:
            node = decode(document)
            assert isinstance(node, Node)
            beat = heartbeat(self.leases.get(node.metadata.name))
            found = examine_node(node, beat, self.now, self.limits)
            silent = is_silent(node, beat, self.now, self.limits)
            health = NodeFences(self.limits.return_margin).with_fence(node, found, silent, self.now).health
            failures = read_times(node.metadata.annotations, "failed-at", node)
        except BadObject as error:
            return Health(Verdict.SUSPECT, str(error))
        return health if health.cause else msgspec.structs.replace(health, cause=self._past(failures))

    def _past(self, failures: tuple[float, ...]) -> str:
        """The guard or cooldown that past failures of a healthy node put on it."""
        node = model.Node("", failures=failures)
        if (guard := lemon(node, self.policy, self.now)) is not None:
            return f"{guard.guard}: {guard.detail}{until_clause(guard.until)}"
        if failed_lately(node, self.policy, self.now):
            return f"failed lately: the last choice{until_clause(failures[-1] + self.policy.node_cooldown)}"
        return ""


async def node_health_reader(client: KubeClient, leases: Mapping[str, Lease]) -> NodeHealthReader:
    """A reader with the settings of the cluster's scheduler, as far as the user may see them."""
    settings = (await settings_in_force(client, None)).settings
    return NodeHealthReader(leases, cluster_time(list(leases.values()), time.time()), settings.health, settings.policy)


def cluster_time(leases: Sequence[Lease], here: float) -> float:
    """The time of the cluster: ours, unless its newest lease shows that the clocks differ."""
    renewed = [(at, lease.spec.lease_duration_seconds) for lease in leases if (at := seconds(lease.spec.renew_time))]
    newest, lasts = max(renewed, default=(here, 0))
    return here if newest <= here <= newest + lasts else newest


async def node_leases(client: KubeClient) -> dict[str, Lease]:
    """Empty if the user may not list leases, or the cluster has none."""
    try:
        documents = await list_documents(client, LEASES, LEASE_NAMESPACE)
    except Refused as error:
        if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            raise
        return {}
    return {lease.metadata.name: lease for lease in map(decode, documents) if isinstance(lease, Lease)}
