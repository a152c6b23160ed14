"""A job whose pods wait, and nobody has said why: who would have to, and where to ask meanwhile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.cli.complaint import listed
from understudy.cli.elsewhere import NOT_INSTALLED, is_embedded, is_installed
from understudy.cli.jobs.reasons import WRITE_REFUSED
from understudy.cli.jobs.statuses import PENDING, QUEUING
from understudy.kube.settings import SCHEDULER_NAME

if TYPE_CHECKING:
    from understudy.cli.jobs.seen import SeenEvent
    from understudy.cli.jobs.summaries import JobSummary
    from understudy.client import KubeClient


async def unheard(client: "KubeClient", job: "JobSummary", events: Sequence["SeenEvent"]) -> list[str]:
    """Nothing where somebody has said why, or nobody waits. An embedded cluster says it by itself, in a moment."""
    waiting = [one for one in job.instances if one.status == "PENDING" and not one.node]
    if is_embedded(client) or job.status not in (PENDING, QUEUING) or not waiting or any(o.waits for o in waiting):
        return []
    if any(event.reason == WRITE_REFUSED for event in events):
        return []
    others = sorted({one.scheduler for one in waiting} - {SCHEDULER_NAME})
    if others:
        return [f"Its pods ask for the scheduler {listed(others)}, which has not said why they wait."]
    if not await is_installed(client):
        return [f"Its pods ask for the scheduler {SCHEDULER_NAME}. {NOT_INSTALLED}."]
    ask = f"understudy plan --from-cluster --explain {job.kind}/{job.namespace}/{job.name}"
    return [f"Understudy has not said why yet; `{ask}` tells what it would do."]
