"""One job into the lines of `understudy get`."""

from understudy.cli.durations import short
from understudy.cli.jobs.figures import written
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import NONE, status_colours, table

HEAD = ["NAME", "STATUS", "TRAINER", "AGE", "INSTANCE", "NODE"]


def portrait(job: JobSummary, now: float, *, wide: bool = False) -> list[str]:
    paint = status_colours()
    lines = [
        f"STATUS: {paint(job.status)}",
        f"NAMESPACE: {job.namespace}",
        f"PRIORITY: {job.priority}",
        f"TRAINING DURATION: {short(job.duration(now))}",
    ]
    if wide and job.reason:
        lines.append(f"REASON: {job.reason}")
    return [*lines, "", *table(_wide_rows(job, now) if wide else _rows(job, now), paint)]


def _rows(job: JobSummary, now: float) -> list[list[str]]:
    """AGE is the job's. One without instances has a line of its own."""
    age = short(job.age(now))
    if not job.instances:
        return [HEAD, [job.name, job.status, job.trainer, age, NONE, NONE]]
    return [HEAD, *([job.name, one.status, job.trainer, age, one.name, one.shown_node] for one in job.instances)]


def _wide_rows(job: JobSummary, now: float) -> list[list[str]]:
    head = [*HEAD, "ROLE", "DETAIL", "UP", "RESTARTS", "EXIT", "IP", "GPU(Requested)", "GPU(Allocated)"]
    if not job.instances:
        return _rows(job, now)
    rows = [head]
    for row, one in zip(_rows(job, now)[1:], job.instances, strict=True):
        up = short((one.ended or now) - one.started) if one.started is not None else NONE
        code = NONE if one.exit_code is None else str(one.exit_code)
        held = one.gpus if one.seated else 0
        more = [one.role or NONE, one.detail, up, str(one.restarts), code, one.ip or NONE, str(one.gpus), str(held)]
        rows.append([*row, *more])
    return rows


def accelerator_block(job: JobSummary) -> list[str]:
    rows = [["INSTANCE", "NODE", "GPU(Requested)", "GPU(Allocated)", "RESOURCES"]]
    for one in job.instances:
        resources = ", ".join(f"{amount} {name}" for name, amount in written(one.requests).items())
        rows.append([one.name, one.shown_node, str(one.gpus), str(one.gpus if one.seated else 0), resources or NONE])
    return [
        "",
        "GPUs:",
        *table(rows),
        "",
        f"Allocated/Requested GPUs of Job: {job.gpus_allocated}/{job.gpus_requested}",
    ]
