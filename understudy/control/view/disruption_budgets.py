"""PodDisruptionBudgets: how many more pods may be disturbed, by their status, or counted from the pods."""

from collections.abc import Callable, Iterable
from math import ceil

from understudy.model.selectors import Selector
from understudy.model.snapshot import Budget
from understudy.objects.cluster_objects import BudgetSpec, PodDisruptionBudget
from understudy.objects.pods import ENDED_PHASES, Pod
from understudy.objects.selectors import selector_of


class DisruptionBudgets:
    """The budgets of the cluster, sorted by namespace and name."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], PodDisruptionBudget] = {}
        self._current: tuple[Budget, ...] = ()
        self._stale = False
        self._counts = False  # whether any budget has to be counted from the pods

    def put(self, budget: PodDisruptionBudget) -> None:
        self._objects[budget.metadata.namespace, budget.metadata.name] = budget
        self._stale = True

    def remove(self, budget: PodDisruptionBudget) -> None:
        self._objects.pop((budget.metadata.namespace, budget.metadata.name), None)
        self._stale = True

    @property
    def touched(self) -> bool:
        return self._stale

    def current(self, pods: Callable[[], Iterable[Pod]], pods_changed: bool) -> tuple[Budget, ...]:
        if self._stale or (self._counts and pods_changed):
            self._counts = any(b.status.disruptions_allowed is None for b in self._objects.values())
            self._current = tuple(budget_of(self._objects[name], pods()) for name in sorted(self._objects))
            self._stale = False
        return self._current


def budget_of(budget: PodDisruptionBudget, pods: Iterable[Pod]) -> Budget:
    """`pods` are read only if the budget has no status."""
    meta, selector = budget.metadata, selector_of(budget.spec.selector)
    allowed = budget.status.disruptions_allowed
    if allowed is None:
        allowed = _counted(budget.spec, meta.namespace, selector, pods)
    return Budget(meta.name, meta.namespace, selector, max(0, allowed))


def _counted(spec: BudgetSpec, namespace: str, selector: Selector | None, pods: Iterable[Pod]) -> int:
    """Expected pods are all that have not finished. Healthy pods are those that are bound and not being deleted."""
    expected = healthy = 0
    for pod in pods:
        if pod.metadata.namespace != namespace or pod.status.phase in ENDED_PHASES:
            continue
        if selector is not None and selector.matches(pod.metadata.labels):
            expected += 1
            healthy += bool(pod.spec.node_name) and pod.metadata.deletion_timestamp is None
    if spec.max_unavailable is not None:
        return healthy - (expected - _number(spec.max_unavailable, expected))
    return healthy - _number(spec.min_available or 0, expected)


def _number(value: int | str, expected: int) -> int:
    """Percentages round up, as Kubernetes rounds them."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * expected / 100)
