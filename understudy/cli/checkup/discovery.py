"""Which kinds a cluster serves, of the groups that matter to Understudy."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from understudy.cli.checkup.operators import OPERATORS
from understudy.cli.checkup.seen import Served
from understudy.kube.permissions import PERMISSIONS
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

_ASKED = {
    "admissionregistration.k8s.io",
    *(permission.group for permission in PERMISSIONS if permission.group),
    *(operator.group for operator in OPERATORS),
}


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str
    version: str


class _Group(msgspec.Struct, frozen=True):
    name: str
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    name: str


class _Kinds(msgspec.Struct, frozen=True):
    resources: tuple[_Kind, ...] | None = None


async def served_by(client: "KubeClient") -> Served:
    raw = await client.request("GET", "/apis")
    groups = [one for one in msgspec.json.decode(raw, type=_Groups).groups if one.name in _ASKED]
    found = await asyncio.gather(*(_versions(client, group) for group in groups))
    return {group.name: versions for group, versions in zip(groups, found, strict=True)}


async def _versions(client: "KubeClient", group: _Group) -> Mapping[str, frozenset[str]]:
    found = await asyncio.gather(*(_plurals(client, one.group_version) for one in group.versions))
    return {one.version: plurals for one, plurals in zip(group.versions, found, strict=True)}


async def _plurals(client: "KubeClient", group_version: str) -> frozenset[str]:
    """A group whose server is away (an aggregated API) has none for now."""
    try:
        raw = await client.request("GET", f"/apis/{group_version}")
    except Refused:
        return frozenset()
    return frozenset(kind.name for kind in msgspec.json.decode(raw, type=_Kinds).resources or ())
