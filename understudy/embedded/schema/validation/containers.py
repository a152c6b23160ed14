"""Checks of containers: names, environment, ports, amounts, mounts and probes."""

from collections.abc import Collection, Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.containers import (
    Container,
    ContainerPort,
    EnvFromSource,
    EnvVar,
    Lifecycle,
    LifecycleHandler,
    Probe,
    ResourceRequirements,
    VolumeMount,
)
from understudy.embedded.schema.types.meta import json_name
from understudy.embedded.schema.types.values import Quantities, amount_of
from understudy.embedded.schema.validation import names
from understudy.embedded.schema.validation.volumes import inside

_ENV_SOURCES = ("config_map_key_ref", "field_ref", "resource_field_ref", "secret_key_ref")
_PROBE_HANDLERS = ("exec", "http_get", "tcp_socket", "grpc")
_HOOK_HANDLERS = ("exec", "http_get", "tcp_socket", "sleep")


def check(container: Container, field: str, volumes: Collection[str]) -> Iterator[Cause]:
    if problem := names.label(container.name):
        yield causes.bad_value(child(field, "name"), container.name, problem)
    if not container.image:
        yield causes.required(child(field, "image"))
    elif container.image != container.image.strip():
        yield causes.bad_value(child(field, "image"), container.image, "must not have leading or trailing whitespace")
    if container.env:
        yield from _environment(container.env, child(field, "env"))
    if container.env_from:
        yield from _sources(container.env_from, child(field, "envFrom"))
    if container.ports:
        yield from _ports(container.ports, child(field, "ports"))
    if container.resources.requests or container.resources.limits:
        yield from resources(container.resources, child(field, "resources"))
    if container.volume_mounts:
        yield from _mounts(container.volume_mounts, child(field, "volumeMounts"), volumes)
    for i, device in enumerate(container.volume_devices or ()):
        if device.name not in volumes:
            yield causes.absent(child(member(child(field, "volumeDevices"), i), "name"), device.name)
    yield from _looking_after(container, field)


def _environment(variables: list[EnvVar], field: str) -> Iterator[Cause]:
    for i, variable in enumerate(variables):
        if problem := names.environment(variable.name):
            yield causes.bad_value(f"{field}[{i}].name", variable.name, problem)
        if variable.value_from is UNSET:
            continue
        where = f"{field}[{i}].valueFrom"
        chosen = [name for name in _ENV_SOURCES if getattr(variable.value_from, name) is not UNSET]
        if variable.value:
            yield causes.bad_value(where, "", "may not be specified when `value` is not empty")
        elif not chosen:
            yield causes.bad_value(
                where,
                "",
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
            )
        elif len(chosen) > 1:
            yield causes.bad_value(where, "", "may not have more than one field specified at a time")


def _sources(sources: list[EnvFromSource], field: str) -> Iterator[Cause]:
    for i, source in enumerate(sources):
        if source.prefix and (problem := names.environment(source.prefix)):
            yield causes.bad_value(f"{field}[{i}].prefix", source.prefix, problem)
        given = [ref for ref in (source.config_map_ref, source.secret_ref) if ref is not UNSET]
        if not given:
            yield causes.bad_value(f"{field}[{i}]", "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield causes.bad_value(f"{field}[{i}]", "", "may not have more than one field specified at a time")


def _ports(ports: list[ContainerPort], field: str) -> Iterator[Cause]:
    seen = set()
    for i, port in enumerate(ports):
        if not port.name:
            continue
        if problem := names.port_name(port.name):
            yield causes.bad_value(f"{field}[{i}].name", port.name, problem)
        elif port.name in seen:
            yield causes.duplicate(f"{field}[{i}].name", port.name)
        seen.add(port.name)


def resources(given: ResourceRequirements, field: str) -> Iterator[Cause]:
    limits, requests = given.limits or {}, given.requests or {}
    yield from quantities(limits, child(field, "limits"))
    yield from quantities(requests, child(field, "requests"))
    for name, asked in requests.items():
        limit = limits.get(name)
        whole = is_extended(name) or name.startswith("hugepages-")
        if limit is None:
            if whole:
                yield causes.required(child(field, "limits"), "Limit must be set for non overcommitable resources")
        elif asked == limit:
            continue
        elif whole:
            yield causes.bad_value(child(field, "requests"), asked, f"must be equal to {name} limit of {limit}")
        elif amount_of(asked) > amount_of(limit):
            yield causes.bad_value(
                child(field, "requests"), asked, f"must be less than or equal to {name} limit of {limit}"
            )


def quantities(amounts: Quantities, field: str) -> Iterator[Cause]:
    for name, amount in amounts.items():
        if problem := names.qualified(name):
            yield causes.bad_value(member(field, name), name, problem)
        if amount.startswith("-"):
            yield causes.bad_value(member(field, name), amount, "must be greater than or equal to 0")
        elif is_extended(name) and not amount.isdigit() and amount_of(amount) % 1:
            yield causes.bad_value(member(field, name), amount, "must be an integer")


def is_extended(resource: str) -> bool:
    """Counted in whole pieces that are never shared: nvidia.com/gpu."""
    prefix, slash, _ = resource.partition("/")
    return bool(slash) and not (prefix == "kubernetes.io" or prefix.endswith(".kubernetes.io"))


def _mounts(mounts: list[VolumeMount], field: str, volumes: Collection[str]) -> Iterator[Cause]:
    seen = set()
    for i, mount in enumerate(mounts):
        if mount.name not in volumes:
            yield causes.absent(f"{field}[{i}].name", mount.name)
        if mount.mount_path in seen:
            yield causes.bad_value(f"{field}[{i}].mountPath", mount.mount_path, "must be unique")
        seen.add(mount.mount_path)
        for name, path in (("subPath", mount.sub_path), ("subPathExpr", mount.sub_path_expr)):
            if path:
                yield from inside(path, f"{field}[{i}].{name}")
        if mount.sub_path and mount.sub_path_expr:
            yield causes.bad_value(
                f"{field}[{i}].subPathExpr", mount.sub_path_expr, "subPathExpr and subPath are mutually exclusive"
            )


def _looking_after(container: Container, field: str) -> Iterator[Cause]:
    for name, probe in (
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    ):
        if probe is not UNSET:
            yield from _probe(probe, child(field, name))
    if container.lifecycle is not UNSET:
        yield from _lifecycle(container.lifecycle, child(field, "lifecycle"))


def _probe(probe: Probe, field: str) -> Iterator[Cause]:
    yield from _one_handler(probe, _PROBE_HANDLERS, field)
    if not field.endswith("readinessProbe") and probe.success_threshold != 1:
        yield causes.bad_value(child(field, "successThreshold"), probe.success_threshold, "must be 1")


def _lifecycle(lifecycle: Lifecycle, field: str) -> Iterator[Cause]:
    for name, handler in (("postStart", lifecycle.post_start), ("preStop", lifecycle.pre_stop)):
        if handler is not UNSET:
            yield from _one_handler(handler, _HOOK_HANDLERS, child(field, name))


def _one_handler(holder: Probe | LifecycleHandler, handlers: tuple[str, ...], field: str) -> Iterator[Cause]:
    given = [name for name in handlers if getattr(holder, name) is not UNSET]
    if not given:
        yield causes.required(field, "must specify a handler type")
    elif len(given) > 1:
        yield causes.not_allowed(child(field, json_name(given[1])), "may not specify more than 1 handler type")
    command = holder.exec
    if command is not UNSET and not command.command:
        yield causes.required(child(field, "exec.command"))
    for name, action in (("httpGet", holder.http_get), ("tcpSocket", holder.tcp_socket)):
        if action is not UNSET:
            yield from _port(action.port, child(child(field, name), "port"))


def _port(port: int | str, field: str) -> Iterator[Cause]:
    if isinstance(port, int):
        if not 1 <= port <= 65535:
            yield causes.bad_value(field, port, "must be between 1 and 65535, inclusive")
    elif problem := names.port_name(port):
        yield causes.bad_value(field, port, problem)
