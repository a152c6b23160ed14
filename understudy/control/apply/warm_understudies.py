"""Warm understudies in a plan: deletes those that are dismissed, and finds those that become another pod."""

import logging
from functools import partial

from understudy.control.apply.context import ApplyContext
from understudy.control.concurrency import run_all
from understudy.kinds.annotations import STEPS_IN
from understudy.kinds.gangs.lone_pod import is_live
from understudy.model.plans import Action, Dismiss, Plan
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod
from understudy.ports import Refused

_log = logging.getLogger(__name__)


def stepping_in(context: ApplyContext, plan: Plan, snapshot: Snapshot) -> dict[str, Pod]:
    """Understudies that become another pod, by the uid of that pod, if it exists."""
    found = {}
    for action in plan.actions:
        if isinstance(action, Dismiss) and action.member:
            pod = context.view.pod(snapshot.gangs[action.by].namespace, action.member)
            understudy = next((one for one in context.view.pods_of(action.gang) if is_live(one)), None)
            if pod is not None and understudy is not None:
                found[pod.metadata.uid] = understudy
    return found


async def dismiss_understudies(context: ApplyContext, plan: Plan, snapshot: Snapshot) -> list[Action]:
    """Deletes understudies that occupy needed room, and returns the actions. One that becomes another pod is left to
    its agent."""
    done: list[Action] = []

    async def each(action: Dismiss) -> None:
        try:
            if await _dismissed(context, action, snapshot):
                done.append(action)
        except Refused as error:
            _log.warning("%s: the cluster refused a write: %s", action.gang, error)

    asked = [action for action in plan.actions if isinstance(action, Dismiss) and not action.member]
    await run_all(partial(each, action) for action in asked)
    return done


async def _dismissed(context: ApplyContext, action: Dismiss, snapshot: Snapshot) -> bool:
    taken_over = (
        {pod.metadata.annotations.get(STEPS_IN) for pod in context.view.pods_of(action.by)} if action.by else set()
    )
    lost = snapshot.is_lost(action.node)
    pods = [
        pod
        for pod in context.view.pods_of(action.gang)
        if pod.spec.node_name == action.node and (lost or (is_live(pod) and pod.metadata.uid not in taken_over))
    ]
    await run_all(partial(context.writer.remove, pod, at_once=lost) for pod in pods)
    return bool(pods)
