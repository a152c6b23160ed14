"""Pod specs, in pods and in templates: defaults that depend on other fields, and checks."""

import ipaddress
from collections.abc import Collection, Iterator, Sequence

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.containers import Container
from understudy.embedded.schema.types.pods import PodSpec, PodTemplateSpec
from understudy.embedded.schema.types.values import PullPolicy
from understudy.embedded.schema.types.volumes import EmptyDirVolumeSource
from understudy.embedded.schema.validation import containers, metadata, names, selectors, volumes


def complete(spec: PodSpec) -> None:
    for container in (*spec.containers, *(spec.init_containers or ())):
        if container.image_pull_policy is UNSET:
            container.image_pull_policy = _pull_policy(container.image or "")
        if spec.host_network is True:
            for port in container.ports or ():
                port.host_port = port.container_port
    for volume in spec.volumes or ():
        if not volumes.sources_of(volume):
            volume.empty_dir = EmptyDirVolumeSource()


def _pull_policy(image: str) -> PullPolicy:
    tag = image.rpartition("/")[2].partition("@")
    latest = not tag[1] and tag[0].partition(":")[2] in ("", "latest")
    return "Always" if latest else "IfNotPresent"


def check(spec: PodSpec, field: str, claimed: Collection[str] = ()) -> Iterator[Cause]:
    """`claimed`: volumes that pods get besides those of the spec."""
    yield from volumes.check(spec.volumes or [], child(field, "volumes"))
    yield from _containers(spec, field, {volume.name for volume in spec.volumes or ()}.union(claimed))
    yield from _placing(spec, field)
    yield from _naming(spec, field)
    if spec.dns_policy == "None" and not (spec.dns_config and spec.dns_config.nameservers):
        yield causes.required(
            child(field, "dnsConfig.nameservers"),
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
        )
    if spec.overhead:
        yield from containers.quantities(spec.overhead, child(field, "overhead"))
    if spec.resources:
        yield from containers.resources(spec.resources, child(field, "resources"))


def check_template(
    template: PodTemplateSpec, field: str, restart_policies: Sequence[str], claimed: Collection[str] = ()
) -> Iterator[Cause]:
    """Checks the template of a workload whose pods may have these restart policies."""
    if template.metadata.labels:
        yield from metadata.labels(template.metadata.labels, child(field, "labels"))
    if template.metadata.annotations:
        yield from metadata.annotations(template.metadata.annotations, child(field, "annotations"))
    yield from check(template.spec, child(field, "spec"), claimed)
    given = template.spec.restart_policy
    if given not in restart_policies:
        yield causes.unsupported(child(field, "spec.restartPolicy"), given, restart_policies)


def _containers(spec: PodSpec, field: str, declared: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for i, container in enumerate(spec.containers):
        where = f"{field}.containers[{i}]"
        yield from _unique(container, where, seen)
        yield from containers.check(container, where, declared)
        if container.restart_policy is not UNSET:
            yield causes.not_allowed(child(where, "restartPolicy"), "may not be set for non-init containers")
    for i, container in enumerate(spec.init_containers or ()):
        where = f"{field}.initContainers[{i}]"
        yield from _unique(container, where, seen)
        yield from containers.check(container, where, declared)
        yield from _initial(container, where)
    yield from _host_ports(spec, field)


def _unique(container: Container, field: str, seen: set[str]) -> Iterator[Cause]:
    if container.name in seen:
        yield causes.duplicate(child(field, "name"), container.name)
    seen.add(container.name)


def _initial(container: Container, field: str) -> Iterator[Cause]:
    """Init containers end before the others start, but for sidecars, which stay."""
    policy = container.restart_policy or ""
    if policy not in ("", "Always"):
        yield causes.unsupported(child(field, "restartPolicy"), policy, ["Always"])
    if policy == "Always":
        return
    for name, given in (
        ("lifecycle", container.lifecycle),
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    ):
        if given is not UNSET:
            yield causes.not_allowed(
                child(field, name), "may not be set for init containers without restartPolicy=Always"
            )


def _host_ports(spec: PodSpec, field: str) -> Iterator[Cause]:
    seen = set()
    for i, container in enumerate(spec.containers):
        for n, port in enumerate(container.ports or ()):
            if port.host_port is UNSET:
                continue
            taken = (port.host_port, port.protocol, port.host_ip or "")
            if taken in seen:
                where = f"{field}.containers[{i}].ports[{n}].hostPort"
                yield causes.duplicate(where, f"{port.protocol}/{port.host_ip or '0.0.0.0'}/{port.host_port}")
            seen.add(taken)


def _placing(spec: PodSpec, field: str) -> Iterator[Cause]:
    if spec.node_selector:
        yield from metadata.labels(spec.node_selector, child(field, "nodeSelector"))
    if spec.affinity:
        yield from selectors.affinity(spec.affinity, child(field, "affinity"))
    if spec.tolerations:
        yield from selectors.tolerations(spec.tolerations, child(field, "tolerations"))
    if spec.topology_spread_constraints:
        yield from selectors.spreading(spec.topology_spread_constraints, child(field, "topologySpreadConstraints"))
    seen = set()
    for i, gate in enumerate(spec.scheduling_gates or ()):
        where = member(child(field, "schedulingGates"), i)
        if problem := names.qualified(gate.name):
            yield causes.bad_value(child(where, "name"), gate.name, problem)
        if gate.name in seen:
            yield causes.duplicate(child(where, "name"), gate.name)
        seen.add(gate.name)


def _naming(spec: PodSpec, field: str) -> Iterator[Cause]:
    for name, value, rule in (
        ("hostname", spec.hostname, names.label),
        ("subdomain", spec.subdomain, names.label),
        ("nodeName", spec.node_name, names.subdomain),
        ("serviceAccountName", spec.service_account_name, names.subdomain),
        ("priorityClassName", spec.priority_class_name, names.subdomain),
        ("schedulerName", spec.scheduler_name, names.qualified),
    ):
        if value and (problem := rule(value)):
            yield causes.bad_value(child(field, name), value, problem)
    for i, alias in enumerate(spec.host_aliases or ()):
        where = member(child(field, "hostAliases"), i)
        if not is_address(alias.ip):
            yield causes.bad_value(
                child(where, "ip"), alias.ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            )
        for n, host in enumerate(alias.hostnames or ()):
            if problem := names.subdomain(host):
                yield causes.bad_value(member(child(where, "hostnames"), n), host, problem)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
