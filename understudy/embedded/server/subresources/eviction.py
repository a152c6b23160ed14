"""POST pods/{name}/eviction: a deletion that a PodDisruptionBudget may refuse."""

from collections.abc import Iterable
from http import HTTPStatus
from math import ceil

import msgspec
from msgspec import UNSET

from understudy.embedded.api.partial_objects import PartialPod, decode_partial_pod
from understudy.embedded.schema.errors import ApiError, Cause, Details, bad_request
from understudy.embedded.schema.types.meta import LabelSelector
from understudy.embedded.schema.types.pods import Pod, PodCondition
from understudy.embedded.schema.types.scheduling import PodDisruptionBudget
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_json
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response, success
from understudy.embedded.server.registry.delete import mark_for_deletion
from understudy.embedded.server.registry.graceful_deletion import DeleteOptions
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record, store_draft
from understudy.model.selectors import Requirement, Selector
from understudy.objects.resources import BUDGETS, PODS


class Eviction(msgspec.Struct, rename="camel", frozen=True):
    """The body of POST pods/{name}/eviction."""

    delete_options: DeleteOptions | None = None


_decode = msgspec.json.Decoder(Eviction).decode


async def evict_pod(state: ServerState, request: Request, target: Target) -> Response:
    options = _read(await read_json(request, may_be_empty=True)).delete_options or DeleteOptions()
    options.check()
    record = find_record(state, target)
    pod = decode_partial_pod(record.body)
    # A pod that does not run, or is being deleted, costs the budget nothing.
    if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp:
        _check_budgets(state, target, pod)
    draft = mark_for_deletion(target.served, record, options, state.now())
    assert isinstance(draft, Pod)
    draft.status.conditions = _disrupted(draft, state.timestamp())
    await store_draft(state, record, draft, dry_run=request.dry_run or bool(options.dry_run))
    return success(code=201)


def _read(body: bytes) -> Eviction:
    try:
        return _decode(body) if body.strip() else Eviction()
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is no Eviction: {wrong}") from None


def _check_budgets(state: ServerState, target: Target, pod: PartialPod) -> None:
    form = state.served(BUDGETS).form
    budgets = [form.load(record.body) for record in state.newest_of(BUDGETS.key, target.namespace)]
    concerned = [one for one in budgets if isinstance(one, PodDisruptionBudget) and selects(one, pod.metadata.labels)]
    if len(concerned) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message)
    for budget in concerned:
        pods = [decode_partial_pod(record.body) for record in state.newest_of(PODS.key, target.namespace)]
        counted = count_healthy(budget, pods)
        if not allows_eviction(budget, pod, counted):
            raise budget_refusal(target.name, str(budget.metadata.name), counted.desired, counted.healthy)


def budget_refusal(pod: str, budget: str, desired: int, healthy: int) -> ApiError:
    said = f"The disruption budget {budget} needs {desired} healthy pods and has {healthy} currently"
    details = Details(pod, kind=PODS.plural, causes=(Cause("DisruptionBudget", said),))
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, details)


def _disrupted(pod: Pod, now: str) -> list[PodCondition]:
    others = [condition for condition in pod.status.conditions or () if condition.type != "DisruptionTarget"]
    target = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
        last_transition_time=now,
    )
    return [*others, target]


class HealthyCount(msgspec.Struct, frozen=True):
    healthy: int
    desired: int

    @property
    def allows_one(self) -> bool:
        return self.healthy > self.desired


def selects(budget: PodDisruptionBudget, labels: dict[str, str]) -> bool:
    """A missing selector selects nothing, an empty one everything."""
    selector = budget.spec.selector
    return selector is not UNSET and _selector(selector).matches(labels)


def count_healthy(budget: PodDisruptionBudget, pods: Iterable[PartialPod]) -> HealthyCount:
    """Counted on the pods, since the status of the budget may lag. All pods that have not ended are expected; those
    that are ready and not being deleted are healthy."""
    covered = [pod for pod in pods if not pod.ended and selects(budget, pod.metadata.labels)]
    healthy = sum(pod.ready and not pod.metadata.deletion_timestamp for pod in covered)
    spec = budget.spec
    if spec.max_unavailable is not UNSET:
        return HealthyCount(healthy, max(0, len(covered) - _number(spec.max_unavailable, len(covered))))
    return HealthyCount(healthy, _number(spec.min_available or 0, len(covered)))


def allows_eviction(budget: PodDisruptionBudget, pod: PartialPod, counted: HealthyCount) -> bool:
    """An unhealthy pod may go if the others are enough, or always if the budget's unhealthyPodEvictionPolicy says
    so."""
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
    """Percentages are rounded up, as in Kubernetes."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * expected / 100)
