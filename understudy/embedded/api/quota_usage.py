"""What an object takes of a ResourceQuota: objects into amounts by the names that quotas use, and which pods count."""

from collections.abc import Callable, Mapping
from decimal import Decimal

import msgspec

from understudy.embedded.schema.types.quotas import ResourceQuota, ScopedResourceSelectorRequirement
from understudy.embedded.schema.types.values import amount_of, canonical
from understudy.model.quantity import parse_quantity
from understudy.objects.meta import Part
from understudy.objects.pods import ENDED_PHASES, Container, PodSpec, PodStatus, Quantity, Resources
from understudy.objects.resource_requests import requests_of
from understudy.objects.resources import (
    CLAIMS,
    CONFIG_MAPS,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICES,
)

Usage = Mapping[str, Decimal]

ONE = Decimal(1)
# Kubernetes counted these before there was count/NAME; and of these kinds an update may change the amounts.
_OLD_NAMES = {one.key for one in (CONFIG_MAPS, SECRETS, REPLICATION_CONTROLLERS, RESOURCE_QUOTAS)}
CHANGING = frozenset({PODS.key, SERVICES.key, CLAIMS.key})
# With one of these in a quota, every container has to say how much it takes.
_TO_BE_STATED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_PLAIN = ("cpu", "memory", "ephemeral-storage")


class _PodSpecFields(PodSpec, frozen=True, gc=False):
    active_deadline_seconds: int | None = None


class PodFields(Part, frozen=True, gc=False):
    """What a quota reads of a pod."""

    spec: _PodSpecFields
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ENDED_PHASES

    @property
    def is_best_effort(self) -> bool:
        parts = [container.resources for container in (*self.spec.containers, *self.spec.init_containers)]
        parts += [self.spec.resources] if self.spec.resources is not None else []
        return not any(name in ("cpu", "memory") for one in parts for name in (*one.requests, *one.limits))


class _ServiceSpecFields(Part, frozen=True, gc=False):
    type: str = "ClusterIP"
    ports: tuple[object, ...] = ()


class _ServiceFields(Part, frozen=True, gc=False):
    spec: _ServiceSpecFields = _ServiceSpecFields()


class _ClaimSpecFields(Part, frozen=True, gc=False):
    resources: Resources = Resources()
    storage_class_name: str = ""


class _ClaimFields(Part, frozen=True, gc=False):
    spec: _ClaimSpecFields = _ClaimSpecFields()


pod_fields = msgspec.json.Decoder(PodFields).decode
_service_fields = msgspec.json.Decoder(_ServiceFields).decode
_claim_fields = msgspec.json.Decoder(_ClaimFields).decode


def usage_of(resource: str, body: bytes) -> Usage:
    """All that an object takes of quotas. `resource` is the key of its kind: `pods`, `jobs.batch`."""
    counted = {f"count/{resource}": ONE} | ({resource: ONE} if resource in _OLD_NAMES else {})
    reader = _READERS.get(resource)
    return counted | reader(body) if reader is not None else counted


def _pod_usage(body: bytes) -> dict[str, Decimal]:
    """Pods that have ended take up nothing but their name."""
    pod = pod_fields(body)
    if pod.has_ended:
        return {}
    used = {"pods": ONE}
    for name, amount in _amounts(pod.spec).items():
        used[f"requests.{name}"] = amount
        if name in _PLAIN or name.startswith("hugepages-"):
            used[name] = amount
    return used | {f"limits.{name}": amount for name, amount in _amounts(_by_limits(pod.spec)).items()}


def _amounts(spec: PodSpec) -> dict[str, Decimal]:
    found = {name: Decimal(amount) for name, amount in requests_of(spec) if name != "pods"}
    return found | ({"cpu": found["cpu"] / 1000} if "cpu" in found else {})


def _by_limits(spec: PodSpec) -> PodSpec:
    """The same pod as if it asked for what its limits say."""

    def only(resources: Resources) -> Resources:
        return Resources(requests=resources.limits)

    def each(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(msgspec.structs.replace(one, resources=only(one.resources)) for one in containers)

    whole = only(spec.resources) if spec.resources is not None else None
    return msgspec.structs.replace(
        spec, containers=each(spec.containers), init_containers=each(spec.init_containers), resources=whole
    )


def _service_usage(body: bytes) -> dict[str, Decimal]:
    spec = _service_fields(body).spec
    ports = Decimal(len(spec.ports) if spec.type in ("NodePort", "LoadBalancer") else 0)
    return {
        "services": ONE,
        "services.loadbalancers": Decimal(spec.type == "LoadBalancer"),
        "services.nodeports": ports,
    }


def _claim_usage(body: bytes) -> dict[str, Decimal]:
    spec = _claim_fields(body).spec
    storage = _storage(spec.resources.requests.get("storage", 0))
    used = {"persistentvolumeclaims": ONE, "requests.storage": storage}
    if spec.storage_class_name:
        used |= {f"{spec.storage_class_name}.storageclass.storage.k8s.io/{name}": much for name, much in used.items()}
    return used


def _storage(amount: Quantity) -> Decimal:
    return Decimal(parse_quantity(amount, "storage"))


_READERS: Mapping[str, Callable[[bytes], dict[str, Decimal]]] = {
    PODS.key: _pod_usage,
    SERVICES.key: _service_usage,
    CLAIMS.key: _claim_usage,
}


def counts(quota: ResourceQuota, resource: str, body: bytes) -> bool:
    """Whether the quota counts the object. A quota with scopes counts pods only, and of these only some."""
    selector = quota.spec.scope_selector or None
    conditions = list(selector.match_expressions or ()) if selector else []
    conditions += [
        ScopedResourceSelectorRequirement(operator="Exists", scope_name=scope) for scope in quota.spec.scopes or ()
    ]
    if not conditions:
        return True
    if resource != PODS.key:
        return False
    pod = pod_fields(body)
    return all(_fits(condition, pod) for condition in conditions)


def _fits(condition: ScopedResourceSelectorRequirement, pod: PodFields) -> bool:
    match condition.scope_name:
        case "Terminating":
            return pod.spec.active_deadline_seconds is not None
        case "NotTerminating":
            return pod.spec.active_deadline_seconds is None
        case "BestEffort":
            return pod.is_best_effort
        case "NotBestEffort":
            return not pod.is_best_effort
    name, named = pod.spec.priority_class_name, condition.values or ()
    match condition.operator:
        case "In":
            return name in named
        case "NotIn":
            return name not in named
        case "Exists":
            return bool(name)
    return not name


def unstated(quota: ResourceQuota, pod: PodFields) -> dict[str, list[str]]:
    """What containers of the pod have to say for the quota and do not: names of resources, and of containers."""
    found: dict[str, list[str]] = {}
    for wanted in _TO_BE_STATED:
        if wanted not in (quota.spec.hard or {}):
            continue
        kind, _, name = wanted.rpartition(".")
        if pod.spec.resources is not None and _states(pod.spec.resources, kind, name):
            continue
        without = [
            container.name
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            if not _states(container.resources, kind, name)
        ]
        if without:
            found[wanted] = sorted(without)
    return found


def _states(resources: Resources, kind: str, name: str) -> bool:
    return name in resources.limits or (kind != "limits" and name in resources.requests)


def tracked(quota: ResourceQuota, usage: Usage) -> dict[str, Decimal]:
    """The part of the usage that the quota limits."""
    return {name: amount for name in quota.spec.hard or {} if (amount := usage.get(name, Decimal(0)))}


def used_amounts(quota: ResourceQuota) -> dict[str, Decimal]:
    used = quota.status.used or {}
    return {name: amount_of(used.get(name, "0")) for name in quota.spec.hard or {}}


def written(name: str, amount: Decimal) -> str:
    """As Kubernetes writes it. Memory is in powers of two, like the amounts that people give."""
    plain = format(amount.normalize(), "f")
    whole = plain.removesuffix(".0")
    in_bytes = any(part in name for part in ("memory", "storage", "hugepages")) and whole.isdigit()
    if in_bytes and amount and not int(whole) % 1024:
        return str(canonical(f"{int(whole) // 1024}Ki"))
    return str(canonical(whole))
