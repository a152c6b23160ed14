"""Two looks at one job into the lines that say what has changed between them."""

from understudy.cli.durations import short
from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.summaries import JobSummary

_TOLD = frozenset(("Preempted", "Requeued", "Resumed", "HotSwapped", "Shrunk", "Recovered", "Waiting"))


def changes(before: JobSummary | None, job: JobSummary, now: float) -> list[str]:
    """The instances first: what happens to a job happens through them."""
    known = {one.name: one for one in before.instances} if before else {}
    lines = [_instance(one) for one in job.instances if _differs(known.get(one.name), one)]
    lines += [f"{name} gone" for name in known.keys() - {one.name for one in job.instances}]
    if before is None or before.status != job.status:
        lines.append(_job(job, now))
    return lines


def noteworthy(event: SeenEvent) -> bool:
    """Trouble, and what Understudy did; that containers are created and started the instances say."""
    return event.type == "Warning" or event.reason in _TOLD


def _differs(before: Instance | None, one: Instance) -> bool:
    return before is None or (before.status, before.node, before.restarts) != (one.status, one.node, one.restarts)


def _instance(one: Instance) -> str:
    place = f" on {one.shown_node}" if one.node else ""
    again = f", started again {one.restarts} time{'s' * (one.restarts != 1)}" if one.restarts else ""
    code = f", exit code {one.exit_code}" if one.status == "FAILED" and one.exit_code is not None else ""
    return f"{one.name} {one.status}{place}{again}{code}"


def _job(job: JobSummary, now: float) -> str:
    lasted = f" after {short(job.duration(now))}" if job.finished else ""
    reason = f": {job.reason}" if job.reason else ""
    return f"{job.name} {job.status}{lasted}{reason}"
