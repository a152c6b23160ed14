"""Defaults and checks of namespaces, nodes, ConfigMaps, Secrets, events, leases, priority classes and disruption
budgets."""

import json
import re
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import member
from understudy.embedded.schema.errors import Cause, forbidden
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.core import (
    ConfigMap,
    Event,
    Lease,
    Namespace,
    NamespaceSpec,
    NamespaceStatus,
    Node,
    Secret,
)
from understudy.embedded.schema.types.scheduling import (
    SYSTEM_PRIORITIES,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    PriorityClass,
)
from understudy.embedded.schema.types.values import IntOrString
from understudy.embedded.schema.validation import containers, names, selectors
from understudy.embedded.schema.validation.metadata import alike
from understudy.objects.resources import PRIORITY_CLASSES

HIGHEST_USER_PRIORITY = 1_000_000_000
_NAME_LABEL = "kubernetes.io/metadata.name"


def begin_namespace(namespace: Namespace, _: Lookup) -> None:
    namespace.spec = NamespaceSpec(finalizers=["kubernetes"])
    namespace.status = NamespaceStatus(phase="Active")


def complete_namespace(namespace: Namespace) -> None:
    namespace.metadata.labels = {**(namespace.metadata.labels or {}), _NAME_LABEL: namespace.metadata.name or ""}


def inherit_namespace(new: Namespace, old: Namespace) -> None:
    """The finalizers of a namespace change through its finalize sub-resource only."""
    new.spec = old.spec


def check_node(node: Node) -> Iterator[Cause]:
    seen = set()
    for i, taint in enumerate(node.spec.taints or ()):
        where = f"metadata.taints[{i}]"
        if problem := names.qualified(taint.key):
            yield causes.bad_value(f"{where}.key", taint.key, problem)
        if taint.value and (problem := names.label_value(taint.value)):
            yield causes.bad_value(f"{where}.value", taint.value, problem)
        if (taint.key, taint.effect) in seen:
            yield causes.duplicate(where, {"key": taint.key, "effect": taint.effect})
        seen.add((taint.key, taint.effect))
    for name, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        if amounts:
            yield from containers.quantities(amounts, f"status.{name}")


def begin_priority_class(new: PriorityClass, lookup: Lookup) -> None:
    """Pods that name no class can have one default only."""
    resource, found = PRIORITY_CLASSES, lookup(PRIORITY_CLASSES, "", "")
    if new.global_default and found is not None:
        why = f"PriorityClass {found.metadata.name} is the default already, and there can be one only"
        raise forbidden(resource.plural, resource.group, new.metadata.name or "", why)


def check_priority_class(given: PriorityClass) -> Iterator[Cause]:
    name = given.metadata.name or ""
    if name.startswith("system-"):
        if SYSTEM_PRIORITIES.get(name) != given.value:
            yield causes.not_allowed(
                "metadata.name", "priority class names with 'system-' prefix are reserved for system use only"
            )
    elif given.value > HIGHEST_USER_PRIORITY:
        yield causes.not_allowed(
            "value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        )


def changed_priority_class(new: PriorityClass, old: PriorityClass) -> Iterator[Cause]:
    if new.value != old.value:
        yield causes.not_allowed("value", "may not be changed in an update.")
    if new.preemption_policy != old.preemption_policy:
        yield causes.bad_value("preemptionPolicy", new.preemption_policy, "field is immutable")


def begin_budget(budget: PodDisruptionBudget, _: Lookup) -> None:
    budget.status = PodDisruptionBudgetStatus()


def check_budget(budget: PodDisruptionBudget) -> Iterator[Cause]:
    spec = budget.spec
    if spec.min_available is not UNSET and spec.max_unavailable is not UNSET:
        yield causes.bad_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if value is not UNSET and (problem := _share(value)):
            yield causes.bad_value(f"spec.{name}", value, problem)
    yield from selectors.label_selector(spec.selector, "spec.selector")


def _share(value: IntOrString) -> str:
    if isinstance(value, int):
        return "must be greater than or equal to 0" if value < 0 else ""
    if not re.fullmatch("[0-9]{1,9}%", value):
        return (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
    return "must not be greater than 100%" if int(value[:-1]) > 100 else ""


def check_lease(lease: Lease) -> Iterator[Cause]:
    spec = lease.spec
    if spec.lease_duration_seconds is not UNSET and spec.lease_duration_seconds <= 0:
        yield causes.bad_value("spec.leaseDurationSeconds", spec.lease_duration_seconds, "must be greater than 0")
    if spec.lease_transitions is not UNSET and spec.lease_transitions < 0:
        yield causes.bad_value("spec.leaseTransitions", spec.lease_transitions, "must be greater than or equal to 0")


def check_event(event: Event) -> Iterator[Cause]:
    namespace = event.involved_object.namespace
    if namespace and namespace != event.metadata.namespace:
        yield causes.bad_value("involvedObject.namespace", namespace, "does not match event.namespace")


MAX_BYTES = 1024 * 1024
_FIXED = "field is immutable when `immutable` is set"
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def check_config_map(config: ConfigMap) -> Iterator[Cause]:
    texts, blobs = config.data or {}, config.binary_data or {}
    for name, keys in (("data", texts), ("binaryData", blobs)):
        yield from _keys(keys, name)
    yield from (
        causes.bad_value(member("data", key), key, "duplicate of key present in binaryData")
        for key in texts
        if key in blobs
    )
    if sum(len(text.encode()) for text in texts.values()) + sum(map(len, blobs.values())) > MAX_BYTES:
        yield causes.too_long("", MAX_BYTES)


def _keys(keys: object, field: str) -> Iterator[Cause]:
    for key in keys if isinstance(keys, dict) else ():
        problem = names.config_key(key) or (f"must not be '{key}'" if key in (".", "..") else "")
        if problem or key.startswith("../"):
            yield causes.bad_value(member(field, key), key, problem or "must not start with '..'")


def changed_config_map(new: ConfigMap, old: ConfigMap) -> Iterator[Cause]:
    if old.immutable is not True:
        return
    if new.immutable is not True:
        yield causes.not_allowed("immutable", _FIXED)
    if not alike(new.data, old.data):
        yield causes.not_allowed("data", _FIXED)
    if not alike(new.binary_data, old.binary_data):
        yield causes.not_allowed("binaryData", _FIXED)


def complete_secret(secret: Secret) -> None:
    """Moves the values of stringData to data."""
    if secret.string_data:
        plain = {key: text.encode() for key, text in secret.string_data.items()}
        secret.data = {**(secret.data or {}), **plain}
    secret.string_data = UNSET


def check_secret(secret: Secret) -> Iterator[Cause]:
    data = secret.data or {}
    yield from _keys(data, "data")
    if sum(map(len, data.values())) > MAX_BYTES:
        yield causes.too_long("data", MAX_BYTES)
    for key in _NEEDED_KEYS.get(secret.type, ()):
        if key not in data:
            yield causes.required(member("data", key))
        elif "docker" in key and not _is_json(data[key]):
            yield causes.bad_value(member("data", key), "<secret contents redacted>", "invalid JSON")


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def changed_secret(new: Secret, old: Secret) -> Iterator[Cause]:
    if new.type != old.type:
        yield causes.bad_value("type", new.type, "field is immutable")
    if old.immutable is not True:
        return
    if new.immutable is not True:
        yield causes.not_allowed("immutable", _FIXED)
    if not alike(new.data, old.data):
        yield causes.not_allowed("data", _FIXED)
