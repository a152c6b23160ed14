"""The settings that a cluster's scheduler goes by, as far as they can be found, and where they are from."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.documents import Text
from understudy.cli.settings import Settings, given, of_text, read
from understudy.objects.resources import CONFIG_MAPS
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

LABEL = "app.kubernetes.io/name=understudy"  # what the chart and the kustomization put on all that they make
FILE = "understudy.yaml"


class InForce(msgspec.Struct, frozen=True):
    settings: Settings
    source: str


async def in_force(client: "KubeClient", path: str | None) -> InForce:
    """The file that is named; else those of an embedded cluster of this machine; else the environment's; else those of
    the Understudy that is installed there."""
    from understudy.cli.clusters import at_server
    from understudy.embedded.loop_settings import loop_settings

    if path is not None:
        return InForce(read(path), path)
    if (cluster := at_server(client.config)) is not None:
        loop = loop_settings(cluster.settings.loop)
        settings = Settings(policy=loop.policy, health=loop.limits)
        return InForce(settings, f"those of the embedded cluster {cluster.settings.name}")
    if given(path) is not None:
        return InForce(read(path), "those of the environment")
    return await _installed(client) or InForce(Settings(), "the defaults; --settings names others")


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: str = ""


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: _Metadata
    data: dict[str, str] | None = None


class _List(msgspec.Struct, frozen=True):
    items: tuple[_ConfigMap, ...] | None = None


async def _installed(client: "KubeClient") -> InForce | None:
    """None where there are none, or none that we may see. Of several the newest: a change makes a new one."""
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
        return InForce(of_text(Text(source, (newest.data or {})[FILE])), f"those of {source}")
    except BadInput as error:  # of another version than this command, perhaps
        return InForce(Settings(), f"the defaults, since those installed cannot be read: {error}")
