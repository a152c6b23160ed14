"""Projected volumes: turns ConfigMaps, Secrets, tokens and fields of the pod into files, by relative path."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from understudy.embedded.agent.api.config_objects import ConfigData, ConfigSource, config_map, secret
from understudy.embedded.agent.api.downward_api import PodFacts, UnsupportedField, field_value, resource_field_value
from understudy.embedded.agent.api.pod_types import (
    ConfigMapVolume,
    DownwardApiFile,
    DownwardApiVolume,
    KeyToPath,
    Volume,
    VolumeProjection,
)

SECRET_MODE = 0o600  # whatever mode the pod asks for: the machine has other users


class BadVolume(Exception):
    """Why a volume cannot be set up."""


class ProjectedFile(msgspec.Struct, frozen=True):
    content: bytes
    mode: int


ProjectedFiles = dict[str, ProjectedFile]


class _Wanted(msgspec.Struct, frozen=True):
    """Keys of one object as files."""

    source: ConfigSource
    items: tuple[KeyToPath, ...]
    mode: int
    optional: bool


def projected_files(volume: Volume, facts: PodFacts, config_data: ConfigData) -> ProjectedFiles | None:
    """None for other kinds of volumes."""
    if volume.config_map:
        return dict(_keys(_config_map(volume.config_map), config_data))
    if volume.secret:
        held = volume.secret
        return dict(_keys(_Wanted(secret(held.secret_name), held.items, SECRET_MODE, held.optional), config_data))
    if volume.downward_api:
        return dict(_downward(volume.downward_api, facts))
    if volume.projected:
        files: ProjectedFiles = {}
        for projection in volume.projected.sources:
            files |= _projection(projection, facts, config_data)
        return files
    return None


def _projection(
    projection: VolumeProjection, facts: PodFacts, config_data: ConfigData
) -> Iterator[tuple[str, ProjectedFile]]:
    if projection.config_map:
        yield from _keys(_config_map(projection.config_map), config_data)
    if projection.secret:
        held = projection.secret
        yield from _keys(_Wanted(secret(held.name), held.items, SECRET_MODE, held.optional), config_data)
    if projection.downward_api:
        yield from _downward(projection.downward_api, facts)
    if projection.service_account_token:
        wanted = projection.service_account_token
        yield safe_path(wanted.path), ProjectedFile(facts.tokens[wanted].encode(), SECRET_MODE)
    if projection.cluster_trust_bundle is not None:
        raise BadVolume("clusterTrustBundle is not supported")


def _config_map(wanted: ConfigMapVolume) -> _Wanted:
    return _Wanted(config_map(wanted.name), wanted.items, wanted.default_mode, wanted.optional)


def _keys(wanted: _Wanted, config_data: ConfigData) -> Iterator[tuple[str, ProjectedFile]]:
    held = config_data.get(wanted.source)
    if held is None:
        if not wanted.optional:
            raise BadVolume(f"{wanted.source} not found")
        return
    for item in wanted.items or tuple(KeyToPath(key, key) for key in held):
        if item.key in held:
            mode = wanted.mode if item.mode is None or wanted.mode == SECRET_MODE else item.mode
            yield safe_path(item.path), ProjectedFile(held[item.key], mode)
        elif not wanted.optional:
            raise BadVolume(f"references non-existent key {item.key} of {wanted.source}")


def _downward(wanted: DownwardApiVolume, facts: PodFacts) -> Iterator[tuple[str, ProjectedFile]]:
    for item in wanted.items:
        yield (
            safe_path(item.path),
            ProjectedFile(_downward_text(item, facts).encode(), item.mode or wanted.default_mode),
        )


def _downward_text(item: DownwardApiFile, facts: PodFacts) -> str:
    try:
        if item.field_ref:
            return field_value(facts, item.field_ref)
        if item.resource_field_ref:
            return resource_field_value(facts, item.resource_field_ref, facts.pod.spec.containers[0])
    except (UnsupportedField, ValueError) as problem:
        raise BadVolume(str(problem)) from problem
    return ""


def safe_path(path: str) -> str:
    """A path that stays within the volume. Raises BadVolume."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise BadVolume(f"path {path!r} must stay within the volume")
    return path


def tree_problem(files: Mapping[str, ProjectedFile]) -> str:
    """Why these files cannot be in one tree, or an empty text."""
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent) in files:
                return f"{parent} would be both a file and a folder"
    return ""
