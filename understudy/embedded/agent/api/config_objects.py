"""ConfigMaps and Secrets that pods refer to: turns names into data; concurrent requests for one object share a read."""

import asyncio
import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus

import msgspec

from understudy.embedded.agent.api.pod_types import Container, Volume
from understudy.objects.resources import CONFIG_MAPS, SECRETS, Resource
from understudy.ports import Cluster, Ref, Refused, Unreachable


class ConfigSource(msgspec.Struct, frozen=True, gc=False):
    """A ConfigMap or Secret by name, in the namespace of the pod that names it."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        return f'{self.resource.kind.lower()} "{self.name}"'


ConfigData = Mapping[ConfigSource, Mapping[str, bytes] | None]  # None: there is no such object


class _ConfigObject(msgspec.Struct, rename="camel"):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


def config_map(name: str) -> ConfigSource:
    return ConfigSource(CONFIG_MAPS, name)


def secret(name: str) -> ConfigSource:
    return ConfigSource(SECRETS, name)


def sources_of_environment(container: Container) -> Iterator[ConfigSource]:
    """The ConfigMaps and Secrets that a container's environment refers to."""
    for group in container.env_from:
        if group.config_map_ref:
            yield config_map(group.config_map_ref.name)
        if group.secret_ref:
            yield secret(group.secret_ref.name)
    for variable in container.env:
        if variable.value_from and variable.value_from.config_map_key_ref:
            yield config_map(variable.value_from.config_map_key_ref.name)
        if variable.value_from and variable.value_from.secret_key_ref:
            yield secret(variable.value_from.secret_key_ref.name)


def sources_of_volume(volume: Volume) -> Iterator[ConfigSource]:
    """The ConfigMaps and Secrets that a volume projects."""
    if volume.config_map:
        yield config_map(volume.config_map.name)
    if volume.secret:
        yield secret(volume.secret.secret_name)
    for projection in volume.projected.sources if volume.projected else ():
        if projection.config_map:
            yield config_map(projection.config_map.name)
        if projection.secret:
            yield secret(projection.secret.name)


class ConfigReader:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, ConfigSource], Mapping[str, bytes]] = {}  # as last read
        self._fetching: dict[tuple[str, ConfigSource], asyncio.Task[Mapping[str, bytes] | None]] = {}

    async def fetch(self, namespace: str, wanted: Iterable[ConfigSource]) -> ConfigData:
        """Returns the current data; while the API is unreachable, the data last read.

        Raises Unreachable, or Refused for any reason but absence.
        """
        unique = list(dict.fromkeys(wanted))
        tasks = [self._task(namespace, source) for source in unique]
        return dict(zip(unique, await asyncio.gather(*map(asyncio.shield, tasks)), strict=True))

    def _task(self, namespace: str, source: ConfigSource) -> "asyncio.Task[Mapping[str, bytes] | None]":
        key = (namespace, source)
        if key not in self._fetching:
            task = asyncio.create_task(self._get(namespace, source))
            self._fetching[key] = task
            task.add_done_callback(lambda _: self._fetching.pop(key, None))
        return self._fetching[key]

    async def _get(self, namespace: str, source: ConfigSource) -> Mapping[str, bytes] | None:
        key = (namespace, source)
        try:
            raw = await self._cluster.get(Ref(source.resource, namespace, source.name))
        except Refused as refusal:
            if refusal.code == HTTPStatus.NOT_FOUND:
                self._known.pop(key, None)
                return None
            raise
        except Unreachable:
            if key in self._known:
                return self._known[key]
            raise
        self._known[key] = _contents(msgspec.json.decode(raw, type=_ConfigObject), source)
        return self._known[key]


def _contents(document: _ConfigObject, source: ConfigSource) -> dict[str, bytes]:
    encoded = source.resource == SECRETS
    plain = {key: _decoded(text) if encoded else text.encode() for key, text in (document.data or {}).items()}
    return plain | {key: _decoded(text) for key, text in (document.binary_data or {}).items()}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return text.encode()
