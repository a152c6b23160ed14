"""Collects all that the checks need from a cluster, concurrently."""

import asyncio
import time
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from understudy.cli.clusters.selection import local_cluster_at
from understudy.cli.doctor.facts import CheckupRequest, ClusterFacts, Document, LeaderLease, NamespaceInfo, Served
from understudy.cli.doctor.health_reports import TRACES
from understudy.cli.doctor.server import rights_of, user_of
from understudy.cli.doctor.workloads import OPERATORS
from understudy.cli.input.settings import Origin, Settings, origins, settings_with_origins
from understudy.cli.queries.job_objects import job_kinds, list_job_objects
from understudy.cli.queries.lists import list_nodes, list_pods
from understudy.cli.queries.nodes import node_summaries
from understudy.cli.session import Session
from understudy.client import KubeClient
from understudy.embedded.loop_settings import loop_settings
from understudy.kube.permissions import PERMISSIONS
from understudy.kube.settings import LEASE_NAME
from understudy.objects.meta import ObjectMeta
from understudy.objects.resources import CONFIG_MAPS, LEASES, NAMESPACES, Resource
from understudy.ports import Ref, Refused

ADMISSION = "admissionregistration.k8s.io"
_HIDDEN = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
T = TypeVar("T")


async def collect_facts(session: Session, request: CheckupRequest) -> ClusterFacts:
    """Raises Unreachable, or Refused where not even the version may be asked for."""
    client = session.client
    version = msgspec.json.decode(await client.request("GET", "/version"))["gitVersion"]
    served = await read_served_kinds(client)
    user, rights, skew = await asyncio.gather(
        user_of(client), rights_of(client, request, served), read_clock_skew(client, session.namespace)
    )
    leader_leases, policies, bindings, namespaces = await asyncio.gather(
        _unless_hidden(_leader_leases(client, request)),
        _unless_hidden(_policies(client, served, "mutatingadmissionpolicies")),
        _unless_hidden(_policies(client, served, "mutatingadmissionpolicybindings")),
        _unless_hidden(_namespaces(client)),
    )
    nodes, states, pods, jobs = await asyncio.gather(
        _unless_hidden(list_nodes(client)),
        _unless_hidden(node_summaries(client)),
        _unless_hidden(list_pods(client, "")),
        _unless_hidden(list_job_objects(client, "", job_kinds(None))),
    )
    return ClusterFacts(
        request=request,
        address=client.config.server,
        version=version,
        user=user,
        embedded=client.config.embedded,
        now=time.time(),
        skew=skew,
        served=served,
        rights=rights,
        leader_leases=leader_leases,
        policies=policies,
        bindings=bindings,
        namespaces=namespaces,
        node_summaries=None if states is None else tuple(states),
        nodes=None if nodes is None else tuple(nodes),
        pods=None if pods is None else tuple(pods),
        jobs=None if jobs is None else tuple(jobs),
        settings=tuple(_settings(client, request.settings)),
    )


async def _unless_hidden(answer: Awaitable[T]) -> T | None:
    try:
        return await answer
    except Refused as error:
        if error.code not in _HIDDEN:
            raise
        return None


async def _leader_leases(client: KubeClient, request: CheckupRequest) -> tuple[LeaderLease, ...]:
    """The leases of our name in all namespaces; without that permission, in the namespace of Understudy."""
    query = urlencode({"fieldSelector": f"metadata.name={LEASE_NAME}"})
    try:
        raw = await client.request("GET", f"{LEASES.path()}?{query}")
    except Refused as error:
        if error.code not in _HIDDEN:
            raise
        raw = await client.request("GET", f"{LEASES.path(request.home)}?{query}")
    return tuple(msgspec.convert(one, LeaderLease) for one in msgspec.json.decode(raw)["items"])


async def _policies(client: KubeClient, served: Served, plural: str) -> tuple[Document, ...]:
    for version, plurals in served.get(ADMISSION, {}).items():
        if plural in plurals:
            resource = Resource(ADMISSION, version, plural, "", namespaced=False)
            return tuple(msgspec.json.decode(await client.get(Ref(resource)))["items"])
    return ()


async def _namespaces(client: KubeClient) -> tuple[NamespaceInfo, ...]:
    items = msgspec.json.decode(await client.get(Ref(NAMESPACES)))["items"]
    return tuple(msgspec.convert(one, NamespaceInfo) for one in items)


def _settings(client: KubeClient, path: str | None) -> list[Origin]:
    """The settings that verbs plan with; for an embedded cluster of this machine, those of its scheduler."""
    cluster = local_cluster_at(client.config) if path is None else None
    if cluster is None:
        return origins(path)
    loop, given = loop_settings(cluster.settings.loop), cluster.settings.loop or {}
    return settings_with_origins(
        Settings(policy=loop.policy, health=loop.limits),
        lambda section, key: f"cluster {cluster.settings.name}" if key in (given.get(section) or {}) else "default",
    )


class _CreatedObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


async def read_clock_skew(client: KubeClient, namespace: str) -> float | None:
    """Seconds by which the clock of the API server is ahead of ours. The server stamps an object of a dry run, in whole
    seconds. None where the user may not create one."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "understudy-doctor-"}}
    before = time.time()
    try:
        raw = await client.request("POST", f"{CONFIG_MAPS.path(namespace)}?dryRun=All", body)
    except Refused:
        return None
    after = time.time()
    made = msgspec.json.decode(raw, type=_CreatedObject).metadata.creation_timestamp
    return clock_skew(made.timestamp(), before, after) if made else None


def clock_skew(written: float, before: float, after: float) -> float:
    """0 where the second that was written overlaps the time in which it was."""
    if written > after:
        return written - after
    return min(0.0, written + 1.0 - before)


_ASKED = {
    "admissionregistration.k8s.io",
    *(permission.group for permission in PERMISSIONS if permission.group),
    *(operator.group for operator in OPERATORS),
    *(trace.group for trace in TRACES if trace.group),
}


class _ApiVersion(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str
    version: str


class _ApiGroup(msgspec.Struct, frozen=True):
    name: str
    versions: tuple[_ApiVersion, ...] = ()


class _ApiGroups(msgspec.Struct, frozen=True):
    groups: tuple[_ApiGroup, ...] = ()


class _ApiKind(msgspec.Struct, frozen=True):
    name: str


class _ApiKinds(msgspec.Struct, frozen=True):
    resources: tuple[_ApiKind, ...] | None = None


async def read_served_kinds(client: KubeClient) -> Served:
    raw = await client.request("GET", "/apis")
    groups = [one for one in msgspec.json.decode(raw, type=_ApiGroups).groups if one.name in _ASKED]
    found = await asyncio.gather(*(_versions(client, group) for group in groups))
    return {group.name: versions for group, versions in zip(groups, found, strict=True)}


async def _versions(client: KubeClient, group: _ApiGroup) -> Mapping[str, frozenset[str]]:
    found = await asyncio.gather(*(_plurals(client, one.group_version) for one in group.versions))
    return {one.version: plurals for one, plurals in zip(group.versions, found, strict=True)}


async def _plurals(client: KubeClient, group_version: str) -> frozenset[str]:
    """A group whose server is not reachable (an aggregated API) counts as empty."""
    try:
        raw = await client.request("GET", f"/apis/{group_version}")
    except Refused:
        return frozenset()
    return frozenset(kind.name for kind in msgspec.json.decode(raw, type=_ApiKinds).resources or ())
