"""Reads what the scheduler of a cluster decides from: its objects, its settings, and the snapshot made of them."""

import asyncio
import time
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from understudy.cli.clusters.selection import local_cluster_at
from understudy.cli.errors import BadInput
from understudy.cli.input.documents import Text
from understudy.cli.input.settings import Settings, given, of_text, read
from understudy.cli.queries.installation import scheduler_of
from understudy.client import KubeClient
from understudy.client.list_pages import Page, listed
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.watch.reflector import WATCHED_RESOURCES, WatchedResource
from understudy.decide.policy import Policy
from understudy.embedded.loop_settings import loop_settings
from understudy.kinds.decoding import decode_json
from understudy.model.snapshot import Snapshot
from understudy.objects import resources as known
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject, seconds
from understudy.objects.nodes import Lease
from understudy.objects.resources import CONFIG_MAPS, Resource
from understudy.ports import Refused

PAGE = 500
TRIES = 3  # a list that takes so long that its pages expire is begun anew
_NEEDED = (known.NODES, known.PODS)  # without permission to list these, nothing can be planned


class SchedulerObjects(msgspec.Struct, frozen=True):
    objects: tuple[KubeObject, ...]  # in the order in which a view wants to be told
    now: float
    notes: tuple[str, ...] = ()  # what could not be seen or read


_PAGES = msgspec.json.Decoder(Page[msgspec.Raw])


class SchedulerObjectReader:
    """Lists objects of a cluster. A list that may not be read is noted; for nodes and pods that is an error."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._hidden: list[str] = []
        self._notes: list[str] = []

    async def survey(self, sources: Iterable[WatchedResource] = WATCHED_RESOURCES) -> SchedulerObjects:
        found = await asyncio.gather(*(self._source(source) for source in sources))
        objects = _in_view_order(obj for objects in found for obj in objects)
        if self._hidden:
            self._notes.append(
                f"not allowed to list {', '.join(sorted(self._hidden))}: what they would say is left out"
            )
        return SchedulerObjects(tuple(objects), _now(objects), tuple(self._notes))

    async def _source(self, source: WatchedResource) -> list[KubeObject]:
        for resource in source.versions:
            try:
                items = await self._listed(resource, source.namespace)
            except Refused as error:
                if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND) or resource in _NEEDED:
                    raise
                if error.code == HTTPStatus.FORBIDDEN:
                    self._hidden.append(resource.key)
                    return []
                continue
            return self._decoded(resource, items)
        return []

    async def _listed(self, resource: Resource, namespace: str) -> list[msgspec.Raw]:
        for _ in range(TRIES - 1):
            try:
                return await self._pages(resource, namespace)
            except Refused as error:
                if error.code != HTTPStatus.GONE:
                    raise
        return await self._pages(resource, namespace)

    async def _pages(self, resource: Resource, namespace: str) -> list[msgspec.Raw]:
        return [item async for item in listed(self._client, resource, _PAGES, namespace, {"limit": str(PAGE)})]

    def _decoded(self, resource: Resource, items: Iterable[msgspec.Raw]) -> list[KubeObject]:
        """Decodes items. An invalid item is passed over with a note, as the scheduler does."""
        head = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind})[:-1] + b","
        found = []
        for item in items:  # the items of a list leave it to the list to say what they are
            try:
                found.append(decode_json(head + bytes(item).lstrip()[1:]))
            except BadObject as error:
                self._notes.append(f"{error}; passed over")
        return found


def _in_view_order(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Leases last, the newest first: the ages of the others are measured against it."""

    def order(obj: KubeObject) -> tuple[bool, float]:
        return (isinstance(obj, Lease), -(_renewed(obj) or 0.0))

    return sorted(objects, key=order)


def _now(objects: Iterable[KubeObject]) -> float:
    """The time by our clock, or the newest time in a lease where our clock is behind the cluster's."""
    return max((time.time(), *(renewed for obj in objects if (renewed := _renewed(obj)) is not None)))


def _renewed(obj: KubeObject) -> float | None:
    return seconds(obj.spec.renew_time) if isinstance(obj, Lease) else None


LABEL = "app.kubernetes.io/name=understudy"  # what the chart and the kustomization put on all that they make
FILE = "understudy.yaml"


class SettingsInForce(msgspec.Struct, frozen=True):
    settings: Settings
    source: str


async def settings_in_force(client: KubeClient, path: str | None) -> SettingsInForce:
    """The file that is named; else those of an embedded cluster of this machine; else the environment's; else those of
    the Understudy that is installed there."""
    if path is not None:
        return SettingsInForce(read(path), path)
    if (cluster := local_cluster_at(client.config)) is not None:
        loop = loop_settings(cluster.settings.loop)
        settings = Settings(policy=loop.policy, health=loop.limits)
        return SettingsInForce(settings, f"those of the embedded cluster {cluster.settings.name}")
    if given(path) is not None:
        return SettingsInForce(read(path), "those of the environment")
    return await _installed(client) or SettingsInForce(Settings(), "the defaults; --settings names others")


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: str = ""


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: _Metadata
    data: dict[str, str] | None = None


class _List(msgspec.Struct, frozen=True):
    items: tuple[_ConfigMap, ...] | None = None


async def _installed(client: KubeClient) -> SettingsInForce | None:
    """The settings of the newest ConfigMap, since each change makes a new one. None where no ConfigMap is found or
    readable."""
    try:
        answer = await client.request("GET", f"{CONFIG_MAPS.path()}?{urlencode({'labelSelector': LABEL})}")
    except Refused:
        return None
    found = [one for one in msgspec.json.decode(answer, type=_List).items or () if FILE in (one.data or {})]
    if not found:
        return None
    newest = max(found, key=lambda one: one.metadata.creation_timestamp)
    source = f"ConfigMap {newest.metadata.namespace}/{newest.metadata.name}"
    try:
        return SettingsInForce(of_text(Text(source, (newest.data or {})[FILE])), f"those of {source}")
    except BadInput as error:  # of another version than this command, perhaps
        return SettingsInForce(Settings(), f"the defaults, since those installed cannot be read: {error}")


# What decides where a pod may go, and not where it is.
_LEFT_OUT = (known.VOLUMES, known.CLAIMS, known.BUDGETS)


class PlanningState(msgspec.Struct, frozen=True):
    snapshot: Snapshot
    policy: Policy
    now: float


async def read_planning_state(client: KubeClient, settings: str | None) -> PlanningState:
    """`settings` names a file to go by; without one, it is what the cluster's scheduler goes by."""
    chosen = (await settings_in_force(client, settings)).settings
    sources = [source for source in WATCHED_RESOURCES if source.versions[0] not in _LEFT_OUT]
    survey = await SchedulerObjectReader(client).survey(sources)
    view = ClusterView(chosen.policy, scheduler_of(client) or None, chosen.health, InvalidObjects())
    for obj in survey.objects:
        view.put(obj)
    return PlanningState(view.snapshot(survey.now), chosen.policy, survey.now)
