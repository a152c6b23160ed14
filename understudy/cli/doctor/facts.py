"""All answers of a cluster that `understudy doctor` asked for, so that checks need no requests."""

from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.cli.input.settings import Origin
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.nodes import NodeSummary
from understudy.cli.queries.objects import NodeInfo, PodInfo
from understudy.kube.permissions import Permission
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.meta import ObjectMeta, Time

Document = dict[str, Any]
Served = Mapping[str, Mapping[str, frozenset[str]]]  # group -> version -> the plurals it has


class CheckupRequest(msgspec.Struct, frozen=True):
    """What the user asked for."""

    scheduler: str = SCHEDULER_NAME
    account: str = ""  # the user whose permissions are checked; '' for the user that asks
    home: str = "understudy-system"  # where Understudy runs
    settings: str | None = None


class DeniedRequest(msgspec.Struct, frozen=True):
    permission: Permission
    verb: str


class Rights(msgspec.Struct, frozen=True):
    asked: int = 0
    denied: tuple[DeniedRequest, ...] = ()
    trouble: str = ""  # why the server did not answer


class LeaderSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: Time | None = None


class LeaderLease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: LeaderSpec = LeaderSpec()


class NamespaceInfo(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What doctor collected from a cluster. A field is None where the user may not read it."""

    request: CheckupRequest
    address: str
    version: str
    user: str = ""
    embedded: bool = False  # every pod of an embedded cluster is Understudy's
    now: float
    skew: float | None = None  # seconds by which the cluster's clock is ahead of ours
    served: Served = {}
    rights: Rights = Rights()
    leader_leases: tuple[LeaderLease, ...] | None = ()
    policies: tuple[Document, ...] | None = ()  # admission policies; see `served` for whether there can be any
    bindings: tuple[Document, ...] | None = ()
    namespaces: tuple[NamespaceInfo, ...] | None = ()
    node_summaries: tuple[NodeSummary, ...] | None = ()
    nodes: tuple[NodeInfo, ...] | None = ()
    pods: tuple[PodInfo, ...] | None = ()
    jobs: tuple[JobObject, ...] | None = ()
    settings: tuple[Origin, ...] = ()

    def serves(self, group: str, plural: str, version: str = "") -> bool:
        versions = self.served.get(group, {})
        return any(plural in plurals for name, plurals in versions.items() if version in ("", name))
