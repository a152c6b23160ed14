"""Nodes and their leases: what a node offers, the taints that keep pods off it, and the signs of its health."""

from collections.abc import Mapping

import msgspec

from understudy.objects.meta import Condition, KubeObject, Part, Time
from understudy.objects.pods import Quantity

LEASE_NAMESPACE = "kube-node-lease"


class NodeTaint(Part, frozen=True, gc=False):
    key: str
    effect: str
    value: str = ""
    time_added: Time | None = None


class NodeSpec(Part, frozen=True, gc=False):
    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False


class NodeInfo(Part, frozen=True, gc=False):
    boot_id: str = msgspec.field(name="bootID", default="")  # another one after every boot


class NodeStatus(Part, frozen=True, gc=False):
    allocatable: Mapping[str, Quantity] = {}
    capacity: Mapping[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()
    node_info: NodeInfo = NodeInfo()


class Node(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LeaseSpec(Part, frozen=True, gc=False):
    lease_duration_seconds: int = 40
    renew_time: Time | None = None


class Lease(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: LeaseSpec = LeaseSpec()
