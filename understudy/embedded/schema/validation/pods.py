"""Pods: what a new pod gets from the cluster, checks, and the few fields that may change."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import ApiError, Cause, forbidden
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.pods import Pod, PodSpec, PodStatus
from understudy.embedded.schema.types.scheduling import SYSTEM_PRIORITIES, PriorityClass
from understudy.embedded.schema.types.values import amount_of
from understudy.embedded.schema.validation import pod_spec
from understudy.embedded.schema.validation.metadata import alike
from understudy.objects.resources import PRIORITY_CLASSES

_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def begin(pod: Pod, lookup: Lookup) -> None:
    spec = pod.spec
    _prioritize(pod, lookup)
    spec.service_account_name = spec.service_account_name or spec.service_account or "default"
    spec.service_account = spec.service_account_name
    if spec.enable_service_links is UNSET:
        spec.enable_service_links = True
    for container in (*spec.containers, *(spec.init_containers or ())):
        amounts = container.resources
        if amounts.limits:
            amounts.requests = {**amounts.limits, **(amounts.requests or {})}
    pod.status = PodStatus(phase="Pending", qos_class=quality(spec))


def _prioritize(pod: Pod, lookup: Lookup) -> None:
    spec = pod.spec
    name = spec.priority_class_name or ""
    found = lookup(PRIORITY_CLASSES, "", name)
    value, policy = SYSTEM_PRIORITIES.get(name, 0), "PreemptLowerPriority"
    if isinstance(found, PriorityClass):
        value, policy = found.value, found.preemption_policy
        spec.priority_class_name = name or found.metadata.name
    elif name and name not in SYSTEM_PRIORITIES:
        raise _refused(pod, f"no PriorityClass with name {name} was found")
    if spec.priority is not UNSET and spec.priority != value:
        raise _refused(pod, _computed("integer", "priority", spec.priority, value))
    if spec.preemption_policy is not UNSET and spec.preemption_policy != policy:
        raise _refused(pod, _computed("string", "PreemptionPolicy", spec.preemption_policy, policy))
    spec.priority = value
    spec.preemption_policy = "Never" if policy == "Never" else "PreemptLowerPriority"


def _computed(kind: str, what: str, given: object, computed: object) -> str:
    return (
        f"the {kind} value of {what} ({given}) must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def _refused(pod: Pod, why: str) -> ApiError:
    return forbidden("pods", "", pod.metadata.name or "", why)


def quality(spec: PodSpec) -> str:
    """The QoS class, which follows from the requests and limits of cpu and memory."""
    amounts = [container.resources for container in (*spec.containers, *(spec.init_containers or ()))]
    asked = [(one.requests or {}, one.limits or {}) for one in amounts]
    kinds = ("cpu", "memory")
    if not any(_some(requests, kinds) or _some(limits, kinds) for requests, limits in asked):
        return "BestEffort"
    firm = all(
        requests.get(kind) == limits.get(kind) and _some(limits, (kind,))
        for requests, limits in asked
        for kind in kinds
    )
    return "Guaranteed" if firm else "Burstable"


def _some(amounts: dict[str, Any], kinds: tuple[str, ...]) -> bool:
    return any(kind in amounts and amount_of(amounts[kind]) > 0 for kind in kinds)


def complete(pod: Pod) -> None:
    pod_spec.complete(pod.spec)


def check(pod: Pod) -> Iterator[Cause]:
    yield from pod_spec.check(pod.spec, "spec")
    if pod.spec.ephemeral_containers:
        yield causes.not_allowed("spec.ephemeralContainers", "cannot be set on create")
    if pod.spec.scheduling_gates and pod.spec.node_name:
        yield causes.not_allowed("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def changed(new: Pod, old: Pod) -> Iterator[Cause]:
    """Resets the fields that may change to their old values; nothing else may differ then."""
    after, before = new.spec, old.spec
    yield from _removed_gates(after, before)
    yield from _kept_tolerations(after, before)
    rest = _frozen(after)
    reference = _frozen(before)
    if not before.node_name and before.scheduling_gates:
        for place in ("nodeSelector", "affinity"):  # a gated pod may still be steered
            rest.pop(place, None)
            reference.pop(place, None)
    if not alike(rest, reference):
        yield causes.not_allowed("spec", f"pod updates may not change fields other than {_CHANGEABLE}")


def _frozen(spec: PodSpec) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(spec, enc_hook=str)
    for name in ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates"):
        plain.pop(name, None)
    for container in (*plain["containers"], *plain.get("initContainers", ())):
        container.pop("image", None)
    return plain


def _removed_gates(after: PodSpec, before: PodSpec) -> Iterator[Cause]:
    known = {gate.name for gate in before.scheduling_gates or ()}
    added = [gate.name for gate in after.scheduling_gates or () if gate.name not in known]
    if added:
        yield causes.not_allowed(
            "spec.schedulingGates", f"only deletion is allowed, but found new scheduling gates {', '.join(added)}"
        )


def _kept_tolerations(after: PodSpec, before: PodSpec) -> Iterator[Cause]:
    kept = {_written(toleration) for toleration in after.tolerations or ()}
    if any(_written(toleration) not in kept for toleration in before.tolerations or ()):
        yield causes.not_allowed(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )


_written = msgspec.json.Encoder(order="sorted").encode
