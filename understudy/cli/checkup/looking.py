"""Asks a cluster everything a checkup wants to know, as much as possible at the same time."""

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import msgspec

from understudy.cli.checkup.clocks import skew_of
from understudy.cli.checkup.discovery import served_by
from understudy.cli.checkup.rights import rights_of, user_of
from understudy.cli.checkup.seen import Document, Leadership, Seen, SeenNamespace, Served, Wish
from understudy.cli.finding import every_job, kinds_of
from understudy.cli.jobs.gathering import nodes_of, pods_in
from understudy.cli.node.standing import standings
from understudy.cli.settings import Origin, Settings, origins, told
from understudy.kube.settings import LEASE_NAME
from understudy.objects.resources import LEASES, NAMESPACES, Resource
from understudy.ports import Ref, Refused

if TYPE_CHECKING:
    from understudy.cli.target import Session
    from understudy.client import KubeClient

ADMISSION = "admissionregistration.k8s.io"
_HIDDEN = (403, 404)
T = TypeVar("T")


async def looked_at(session: "Session", wish: Wish) -> Seen:
    """Raises Unreachable, or Refused where not even the version may be asked for."""
    client = session.client
    version = msgspec.json.decode(await client.request("GET", "/version"))["gitVersion"]
    served = await served_by(client)
    user, rights, skew = await asyncio.gather(
        user_of(client), rights_of(client, wish, served), skew_of(client, session.namespace)
    )
    leaderships, policies, bindings, namespaces = await asyncio.gather(
        _if_seen(_leaderships(client, wish)),
        _if_seen(_policies(client, served, "mutatingadmissionpolicies")),
        _if_seen(_policies(client, served, "mutatingadmissionpolicybindings")),
        _if_seen(_namespaces(client)),
    )
    nodes, states, pods, jobs = await asyncio.gather(
        _if_seen(nodes_of(client)),
        _if_seen(standings(client)),
        _if_seen(pods_in(client, "")),
        _if_seen(every_job(client, "", kinds_of(None))),
    )
    return Seen(
        wish=wish,
        address=client.config.server,
        version=version,
        user=user,
        embedded=client.config.gang_binding,
        now=time.time(),
        skew=skew,
        served=served,
        rights=rights,
        leaderships=leaderships,
        policies=policies,
        bindings=bindings,
        namespaces=namespaces,
        standings=None if states is None else tuple(states),
        nodes=None if nodes is None else tuple(nodes),
        pods=None if pods is None else tuple(pods),
        jobs=None if jobs is None else tuple(jobs),
        settings=tuple(_settings(client, wish.settings)),
    )


async def _if_seen(answer: Awaitable[T]) -> T | None:
    try:
        return await answer
    except Refused as error:
        if error.code not in _HIDDEN:
            raise
        return None


async def _leaderships(client: "KubeClient", wish: Wish) -> tuple[Leadership, ...]:
    """Wherever there is a lease of our name; whoever may not look everywhere looks where Understudy is expected."""
    query = urlencode({"fieldSelector": f"metadata.name={LEASE_NAME}"})
    try:
        raw = await client.request("GET", f"{LEASES.path()}?{query}")
    except Refused as error:
        if error.code not in _HIDDEN:
            raise
        raw = await client.request("GET", f"{LEASES.path(wish.home)}?{query}")
    return tuple(msgspec.convert(one, Leadership) for one in msgspec.json.decode(raw)["items"])


async def _policies(client: "KubeClient", served: Served, plural: str) -> tuple[Document, ...]:
    for version, plurals in served.get(ADMISSION, {}).items():
        if plural in plurals:
            resource = Resource(ADMISSION, version, plural, "", namespaced=False)
            return tuple(msgspec.json.decode(await client.get(Ref(resource)))["items"])
    return ()


async def _namespaces(client: "KubeClient") -> tuple[SeenNamespace, ...]:
    items = msgspec.json.decode(await client.get(Ref(NAMESPACES)))["items"]
    return tuple(msgspec.convert(one, SeenNamespace) for one in items)


def _settings(client: "KubeClient", path: str | None) -> list[Origin]:
    """As those verbs take them that plan: of an embedded cluster of this machine, what its scheduler runs with."""
    from understudy.cli.clusters import at_server
    from understudy.embedded.loop_settings import loop_settings

    cluster = at_server(client.config) if path is None else None
    if cluster is None:
        return origins(path)
    loop, given = loop_settings(cluster.settings.loop), cluster.settings.loop or {}
    return told(
        Settings(policy=loop.policy, health=loop.limits),
        lambda section, key: f"cluster {cluster.settings.name}" if key in (given.get(section) or {}) else "default",
    )
