"""The status of PodDisruptionBudgets: how many pods are expected, healthy, and allowed to be disrupted now."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

import msgspec

from understudy.embedded.controllers.child_writer import merge_patch
from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.partial_objects import PartialObject, PartialPod, find_condition, whole_seconds
from understudy.objects.cluster_objects import BudgetSpec
from understudy.objects.meta import Condition, Part
from understudy.objects.resources import BUDGETS, PODS, Resource
from understudy.objects.selectors import selector_of
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

QUIET = 0.02  # seconds in which changes of pods are batched
PER_POD = 100e-6  # seconds added for each pod of the namespace, since each reconcile looks at all of them


class _Conditions(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class SeenBudget(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: BudgetSpec = BudgetSpec()
    status: _Conditions = _Conditions()

    def covers(self, pod: PartialPod) -> bool:
        """A budget without a selector covers no pod; an empty selector covers all pods of the namespace."""
        selector = selector_of(self.spec.selector)
        return selector is not None and selector.matches(pod.metadata.labels)


_read_budget = msgspec.json.Decoder(SeenBudget).decode


def status_of(budget: SeenBudget, pods: Sequence[PartialPod], now: float) -> dict[str, Any]:
    """`pods` are all pods of its namespace."""
    expected = [pod for pod in pods if not pod.finished and budget.covers(pod)]
    healthy = sum(pod.ready and not pod.metadata.leaving for pod in expected)
    desired = _desired(budget.spec, len(expected))
    allowed = max(0, healthy - desired) if expected else 0
    return {
        "observedGeneration": budget.metadata.generation,
        "expectedPods": len(expected),
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "conditions": [_condition(budget, allowed, now)],
    }


def _desired(spec: BudgetSpec, expected: int) -> int:
    if spec.max_unavailable is not None:
        return max(0, expected - _number(spec.max_unavailable, expected))
    return _number(spec.min_available or 0, expected)


def _number(value: int | str, expected: int) -> int:
    """Percentages round up, as Kubernetes rounds them."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * expected / 100)


def _condition(budget: SeenBudget, allowed: int, now: float) -> dict[str, Any]:
    """Keeps the last transition time if the status is unchanged."""
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    old = find_condition(budget.status.conditions, "DisruptionAllowed")
    turned = old.last_transition_time.timestamp() if old and old.status == value and old.last_transition_time else now
    return {
        "type": "DisruptionAllowed",
        "status": value,
        "reason": reason,
        "message": "",
        "observedGeneration": budget.metadata.generation,
        "lastTransitionTime": whole_seconds(turned),
    }


class DisruptionController:
    """Keys are `namespace/name` of a budget."""

    name = "disruption budgets"

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._clock = clock
        self._budgets: dict[str, dict[str, bytes]] = {}  # by namespace and name
        self._pods: dict[str, dict[str, PartialPod]] = {}

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {BUDGETS: self._on_budget, PODS: self._on_pod}

    def _on_budget(self, change: ObjectChange) -> None:
        meta = change.read(SeenBudget).metadata
        of_namespace = self._budgets.setdefault(meta.namespace, {})
        if change.is_deleted:
            of_namespace.pop(meta.name, None)
        else:
            of_namespace[meta.name] = change.raw
            self.queue.add(f"{meta.namespace}/{meta.name}")

    def _on_pod(self, change: ObjectChange) -> None:
        pod = change.read(ObservedPod)
        meta = pod.metadata
        of_namespace = self._pods.setdefault(meta.namespace, {})
        if change.is_deleted:
            of_namespace.pop(meta.name, None)
        else:
            of_namespace[meta.name] = pod
        at = self._clock.now() + QUIET + PER_POD * len(of_namespace)
        for name in self._budgets.get(meta.namespace, ()):
            self.queue.add_at(f"{meta.namespace}/{name}", at)

    async def reconcile(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        raw = self._budgets.get(namespace, {}).get(name)
        if raw is None:
            return None
        document, pods = msgspec.json.decode(raw), list(self._pods.get(namespace, {}).values())
        wanted = status_of(_read_budget(raw), pods, self._clock.now())
        change = merge_patch({**document.get("status", {})}, {**document.get("status", {}), **wanted})
        if change:
            patch = {"metadata": {"uid": document["metadata"]["uid"]}, "status": change}
            try:
                await self._cluster.patch(Ref(BUDGETS, namespace, name), patch, sub="status", form=PatchForm.MERGE)
            except Refused as error:
                if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                    raise
        return None
