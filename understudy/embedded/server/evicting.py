"""Evictions: a deletion that a PodDisruptionBudget may refuse."""

import msgspec

from understudy.embedded.api.errors import ApiError, Cause, Details, bad_request
from understudy.embedded.schema.types.pods import Pod, PodCondition
from understudy.embedded.schema.types.scheduling import PodDisruptionBudget
from understudy.embedded.server.answers import Answer, success
from understudy.embedded.server.bodies import read_json
from understudy.embedded.server.budgets import count, lets_go, selects
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.deleting import marked
from understudy.embedded.server.deletion import DeleteOptions
from understudy.embedded.server.glances import PodGlance, glance_at_pod
from understudy.embedded.server.state import State
from understudy.embedded.server.updating import find, settle
from understudy.objects.resources import BUDGETS, PODS


class Eviction(msgspec.Struct, rename="camel", frozen=True):
    """What POST pods/{name}/eviction says."""

    delete_options: DeleteOptions | None = None


_decode = msgspec.json.Decoder(Eviction).decode


async def evict(state: State, call: Call, target: Target) -> Answer:
    options = _read(await read_json(call, may_be_empty=True)).delete_options or DeleteOptions()
    options.check()
    record = find(state, target)
    pod = glance_at_pod(record.body)
    # Whoever does not run, or leaves already, takes nothing from a budget.
    if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp:
        _check_budgets(state, target, pod)
    draft = marked(target.served, record, options, state.now())
    assert isinstance(draft, Pod)
    draft.status.conditions = _disrupted(draft, state.timestamp())
    await settle(state, record, draft, dry_run=call.dry_run or bool(options.dry_run))
    return success(code=201)


def _read(body: bytes) -> Eviction:
    try:
        return _decode(body) if body.strip() else Eviction()
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is no Eviction: {wrong}") from None


def _check_budgets(state: State, target: Target, pod: PodGlance) -> None:
    form = state.served(BUDGETS).form
    budgets = [form.load(record.body) for record in state.newest_of(BUDGETS.key, target.namespace)]
    concerned = [one for one in budgets if isinstance(one, PodDisruptionBudget) and selects(one, pod.metadata.labels)]
    if len(concerned) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "InternalError", message)
    for budget in concerned:
        pods = [glance_at_pod(record.body) for record in state.newest_of(PODS.key, target.namespace)]
        counted = count(budget, pods)
        if not lets_go(budget, pod, counted):
            raise refused(target.name, str(budget.metadata.name), counted.desired, counted.healthy)


def refused(pod: str, budget: str, desired: int, healthy: int) -> ApiError:
    said = f"The disruption budget {budget} needs {desired} healthy pods and has {healthy} currently"
    details = Details(pod, kind=PODS.plural, causes=(Cause("DisruptionBudget", said),))
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(429, "TooManyRequests", message, details)


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
