"""Whether a PodDisruptionBudget lets a pod go: counted on the pods as they are, not as a status last said."""

from collections.abc import Iterable
from math import ceil

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.types.meta import LabelSelector
from understudy.embedded.schema.types.scheduling import PodDisruptionBudget
from understudy.embedded.server.glances import PodGlance
from understudy.model.selectors import Requirement, Selector


class Count(msgspec.Struct, frozen=True):
    healthy: int
    desired: int

    @property
    def allows_one(self) -> bool:
        return self.healthy > self.desired


def selects(budget: PodDisruptionBudget, labels: dict[str, str]) -> bool:
    """No selector selects nothing; an empty one selects everything."""
    selector = budget.spec.selector
    return selector is not UNSET and _selector(selector).matches(labels)


def count(budget: PodDisruptionBudget, pods: Iterable[PodGlance]) -> Count:
    """Expected are all that have not ended; healthy, of those, the ones that are ready and not on their way out."""
    covered = [pod for pod in pods if not pod.ended and selects(budget, pod.metadata.labels)]
    healthy = sum(pod.ready and not pod.metadata.deletion_timestamp for pod in covered)
    spec = budget.spec
    if spec.max_unavailable is not UNSET:
        return Count(healthy, max(0, len(covered) - _number(spec.max_unavailable, len(covered))))
    return Count(healthy, _number(spec.min_available or 0, len(covered)))


def lets_go(budget: PodDisruptionBudget, pod: PodGlance, counted: Count) -> bool:
    """A pod that is not healthy costs the budget nothing: it may go if the others are enough, or always if so said."""
    if pod.ready:
        return counted.allows_one
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return counted.healthy >= counted.desired > 0 or counted.allows_one


def _selector(selector: LabelSelector) -> Selector:
    labels = selector.match_labels or {}
    expressions = selector.match_expressions or ()
    return Selector(
        (
            *(Requirement(key, "In", (value,)) for key, value in labels.items()),
            *(Requirement(one.key, one.operator, tuple(one.values or ())) for one in expressions),
        )
    )


def _number(value: int | str, expected: int) -> int:
    """Percentages round up, as Kubernetes rounds them."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * expected / 100)
