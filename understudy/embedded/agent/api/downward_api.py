"""The downward API: turns a field or resource reference of a pod into text."""

import re
from collections.abc import Mapping
from math import ceil

import msgspec

from understudy.embedded.agent.api.pod_types import (
    Container,
    FieldRef,
    Pod,
    Quantity,
    ResourceFieldRef,
    TokenProjection,
)
from understudy.model.quantity import parse_quantity

_ENTRY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class UnsupportedField(Exception):
    """Why a field or resource reference has no value."""


class PodFacts(msgspec.Struct, frozen=True):
    """What the downward API knows of a pod."""

    pod: Pod
    address: str
    host: str
    allocatable: Mapping[str, Quantity] = {}  # of its node: replaces limits that are not set
    tokens: Mapping[TokenProjection, str] = {}


def field_value(facts: PodFacts, ref: FieldRef) -> str:
    meta, spec = facts.pod.metadata, facts.pod.spec
    entry = _ENTRY.fullmatch(ref.field_path)
    if entry:
        source = meta.labels if entry[1] == "labels" else meta.annotations
        return source.get(entry[2], "")
    match ref.field_path:
        case "metadata.name":
            return meta.name
        case "metadata.namespace":
            return meta.namespace
        case "metadata.uid":
            return meta.uid
        case "metadata.labels":
            return listed(meta.labels)
        case "metadata.annotations":
            return listed(meta.annotations)
        case "spec.nodeName":
            return spec.node_name
        case "spec.serviceAccountName":
            return spec.service_account_name
        case "status.podIP" | "status.podIPs":
            return facts.address
        case "status.hostIP" | "status.hostIPs":
            return facts.host
        case other:
            raise UnsupportedField(f"unsupported fieldPath: {other}")


def listed(entries: Mapping[str, str]) -> str:
    return "\n".join(f'{key}="{_escaped(value)}"' for key, value in sorted(entries.items()))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_field_value(facts: PodFacts, ref: ResourceFieldRef, container: Container) -> str:
    """Rounded up, in units of the divisor."""
    of = facts.pod.container(ref.container_name) if ref.container_name else container
    kind, _, name = ref.resource.partition(".")
    if of is None or kind not in ("limits", "requests") or not name:
        raise UnsupportedField(f"unsupported resource: {ref.container_name or container.name} {ref.resource}")
    resources = of.resources
    given = resources.limits.get(name) if kind == "limits" else resources.requests.get(name, resources.limits.get(name))
    if given is None:
        given = facts.allocatable.get(name, "0") if kind == "limits" else "0"
    amount, unit = parse_quantity(given, name), parse_quantity(ref.divisor, name)
    return str(ceil(amount / (unit or parse_quantity("1", name))))
