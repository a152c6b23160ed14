"""One look at a cluster as its scheduler sees it: objects into a snapshot, and the policy that plans are made by."""

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.cli.settings import Settings, read
from understudy.control.following import SOURCES, Source
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.decide.policy import Policy
from understudy.model.snapshot import Snapshot
from understudy.objects import BadObject, KubeObject, Lease, decode
from understudy.objects import resources as known
from understudy.objects.meta import seconds
from understudy.ports import Ref, Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

# What decides where a pod may go, and not where it is.
_LEFT_OUT = (known.NAMESPACES, known.VOLUMES, known.CLAIMS, known.BUDGETS)
_NEEDED = (known.NODES, known.PODS)  # whoever may not see these sees nothing
_HIDDEN = (403, 404)


class Glance(msgspec.Struct, frozen=True):
    snapshot: Snapshot
    policy: Policy
    now: float


async def glance(client: "KubeClient", settings: str | None) -> Glance:
    """`settings` names a file to go by; without one, it is what the cluster's scheduler goes by."""
    chosen = _settings(client, settings)
    sources = [source for source in SOURCES if source.versions[0] not in _LEFT_OUT]
    found = await asyncio.gather(*(_listed(client, source) for source in sources))
    now = time.time()
    view = View(chosen.policy.index, limits=chosen.health, troubles=Troubles())
    for obj in _told_in_order(obj for objects in found for obj in objects):
        view.put(obj)
    return Glance(view.snapshot(now), chosen.policy, now)


def _settings(client: "KubeClient", path: str | None) -> Settings:
    """Those of an embedded cluster of this machine are known; of any other, what a file or the environment says."""
    from understudy.cli.clusters import at_server
    from understudy.embedded.looping import looped

    cluster = at_server(client.config) if path is None else None
    if cluster is None:
        return read(path)
    loop = looped(cluster.settings.loop)
    return Settings(policy=loop.policy, health=loop.limits)


async def _listed(client: "KubeClient", source: Source) -> list[KubeObject]:
    for resource in source.versions:
        try:
            items = msgspec.json.decode(await client.get(Ref(resource, source.namespace)))["items"]
        except Refused as error:
            if error.code not in _HIDDEN or resource in _NEEDED:
                raise
            continue
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [obj for item in items if (obj := _decoded({**head, **item})) is not None]
    return []


def _decoded(document: dict[str, Any]) -> KubeObject | None:
    try:
        return decode(document)
    except BadObject:
        return None  # the scheduler passes it over as well


def _told_in_order(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Leases last, the newest first: it says until when nodes could be heard, and so how old the others are."""

    def order(obj: KubeObject) -> tuple[bool, float]:
        renewed = seconds(obj.spec.renew_time) if isinstance(obj, Lease) else None
        return (isinstance(obj, Lease), -(renewed or 0.0))

    return sorted(objects, key=order)
