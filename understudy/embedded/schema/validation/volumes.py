"""Checks of a pod's volumes: names, one source each, and files that stay within the volume."""

import re
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.meta import json_name
from understudy.embedded.schema.types.values import Maybe
from understudy.embedded.schema.types.volumes import (
    DownwardAPIVolumeFile,
    KeyToPath,
    ProjectedVolumeSource,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from understudy.embedded.schema.validation import names

_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_ONE_OF_MANY = re.compile(r"metadata\.(annotations|labels)\['[^']+'\]")
_AMOUNTS = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_MOUNTED = (
    "config_map",
    "downward_api",
    "empty_dir",
    "ephemeral",
    "host_path",
    "persistent_volume_claim",
    "projected",
    "secret",
)
_NOT_MOUNTED = (
    f"volumes of this type are not mounted on this cluster; use one of {', '.join(json_name(one) for one in _MOUNTED)}"
)
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 2**32  # seconds


def sources_of(volume: Volume | VolumeProjection) -> int:
    return sum(getattr(volume, name) is not UNSET for name in volume.__struct_fields__ if name != "name")


def check(volumes: list[Volume], field: str) -> Iterator[Cause]:
    seen = set()
    for i, volume in enumerate(volumes):
        where = member(field, i)
        if problem := names.label(volume.name):
            yield causes.bad_value(child(where, "name"), volume.name, problem)
        if volume.name in seen:
            yield causes.duplicate(child(where, "name"), volume.name)
        seen.add(volume.name)
        if sources_of(volume) > 1:
            yield causes.not_allowed(where, "may not specify more than 1 volume type")
        yield from _not_mounted(volume, where)
        yield from _content(volume, where)


def _not_mounted(volume: Volume, field: str) -> Iterator[Cause]:
    for name in volume.__struct_fields__:
        if name not in (*_MOUNTED, "name") and getattr(volume, name) is not UNSET:
            yield causes.not_allowed(child(field, json_name(name)), _NOT_MOUNTED)


def _content(volume: Volume, field: str) -> Iterator[Cause]:
    if volume.host_path and ".." in volume.host_path.path.split("/"):
        yield causes.bad_value(child(field, "hostPath.path"), volume.host_path.path, "must not contain '..'")
    if volume.config_map is not UNSET:
        if not volume.config_map.name:
            yield causes.required(child(field, "configMap.name"))
        yield from _keys(volume.config_map.items, child(field, "configMap"))
    if volume.secret is not UNSET:
        if not volume.secret.secret_name:
            yield causes.required(child(field, "secret.secretName"))
        yield from _keys(volume.secret.items, child(field, "secret"))
    if volume.downward_api is not UNSET:
        yield from _facts(volume.downward_api.items, child(field, "downwardAPI"))
    if volume.projected is not UNSET:
        yield from _projected(volume.projected, child(field, "projected"))


def _projected(volume: ProjectedVolumeSource, field: str) -> Iterator[Cause]:
    paths: set[str] = set()
    for i, source in enumerate(volume.sources or ()):
        where = f"{field}.sources[{i}]"
        if sources_of(source) > 1:
            yield causes.not_allowed(where, "may not specify more than 1 volume type per source")
        for name, keys in (("configMap", source.config_map), ("secret", source.secret)):
            if keys is not UNSET:
                if not keys.name:
                    yield causes.required(f"{where}.{name}.name")
                yield from _keys(keys.items, child(where, name))
        if source.downward_api is not UNSET:
            yield from _facts(source.downward_api.items, child(where, "downwardAPI"))
        if source.service_account_token is not UNSET:
            yield from _token(source.service_account_token, child(where, "serviceAccountToken"))
        if source.cluster_trust_bundle is not UNSET:
            yield from file_path(source.cluster_trust_bundle.path, child(where, "clusterTrustBundle.path"))
        for path in _paths(source):
            if path in paths:
                yield causes.bad_value(where, path, "conflicting duplicate paths")
            paths.add(path)


def _paths(source: VolumeProjection) -> Iterator[str]:
    for keys in (source.config_map, source.secret):
        yield from (item.path for item in (keys.items if keys is not UNSET else UNSET) or ())
    if source.downward_api is not UNSET:
        yield from (item.path for item in source.downward_api.items or ())


def _keys(items: Maybe[list[KeyToPath]], field: str) -> Iterator[Cause]:
    for i, item in enumerate(items or ()):
        yield from file_path(item.path, f"{field}.items[{i}].path")


def _facts(items: Maybe[list[DownwardAPIVolumeFile]], field: str) -> Iterator[Cause]:
    for i, item in enumerate(items or ()):
        where = f"{field}.items[{i}]"
        yield from file_path(item.path, child(where, "path"))
        if item.field_ref is UNSET and item.resource_field_ref is UNSET:
            yield causes.required(where, "one of fieldRef and resourceFieldRef is required")
        elif item.field_ref is not UNSET and item.resource_field_ref is not UNSET:
            said = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield causes.bad_value(where, "resource", said)
        elif item.field_ref is not UNSET:
            path = item.field_ref.field_path
            if path not in _FIELDS and not _ONE_OF_MANY.fullmatch(path):
                yield causes.unsupported(child(where, "fieldRef.fieldPath"), path, _FIELDS)
        elif item.resource_field_ref is not UNSET:
            amount = item.resource_field_ref
            if not amount.container_name:
                yield causes.required(child(where, "resourceFieldRef.containerName"))
            if amount.resource not in _AMOUNTS and not amount.resource.startswith(_HUGE_PAGES):
                yield causes.unsupported(child(where, "resourceFieldRef.resource"), amount.resource, _AMOUNTS)


def _token(token: ServiceAccountTokenProjection, field: str) -> Iterator[Cause]:
    yield from file_path(token.path, child(field, "path"))
    seconds, where = token.expiration_seconds, child(field, "expirationSeconds")
    if seconds < _SHORTEST_TOKEN:
        yield causes.bad_value(where, seconds, "may not specify a duration less than 10 minutes")
    elif seconds > _LONGEST_TOKEN:
        yield causes.bad_value(where, seconds, "may not specify a duration larger than 2^32 seconds")


def file_path(path: str, field: str) -> Iterator[Cause]:
    """The path of a file in a projected volume: names that begin with two dots are reserved for its atomic updates."""
    yield from inside(path, field)
    if path.startswith("..") and not path.startswith("../"):
        yield causes.bad_value(field, path, "must not start with '..'")


def inside(path: str, field: str) -> Iterator[Cause]:
    """The path must not lead out of the volume."""
    if path.startswith("/"):
        yield causes.bad_value(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield causes.bad_value(field, path, "must not contain '..'")
