"""Namespaces, nodes, priority classes, budgets, leases and events: how they begin, checks, and what stays as it was."""

import re
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.api.errors import Cause, forbidden
from understudy.embedded.api.served import Lookup
from understudy.embedded.schema import causes
from understudy.embedded.schema.budgets import PodDisruptionBudget, PodDisruptionBudgetStatus
from understudy.embedded.schema.events import Event
from understudy.embedded.schema.leases import Lease
from understudy.embedded.schema.namespaces import Namespace, NamespaceSpec, NamespaceStatus
from understudy.embedded.schema.nodes import Node
from understudy.embedded.schema.rules import containers, names, selection
from understudy.embedded.schema.scheduling import SYSTEM_PRIORITIES, PriorityClass
from understudy.embedded.schema.values import IntOrString
from understudy.objects.resources import PRIORITY_CLASSES

HIGHEST_USER_PRIORITY = 1_000_000_000
_NAME_LABEL = "kubernetes.io/metadata.name"


def begin_namespace(namespace: Namespace, _: Lookup) -> None:
    namespace.spec = NamespaceSpec(finalizers=["kubernetes"])
    namespace.status = NamespaceStatus(phase="Active")


def complete_namespace(namespace: Namespace) -> None:
    namespace.metadata.labels = {**(namespace.metadata.labels or {}), _NAME_LABEL: namespace.metadata.name or ""}


def inherit_namespace(new: Namespace, old: Namespace) -> None:
    """Who holds a namespace is changed at its finalize sub-resource only."""
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
    yield from selection.label_selector(spec.selector, "spec.selector")


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
