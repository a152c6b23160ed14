"""Jobs into the lines of `understudy top job`: what each asked for, and what it has."""

from collections.abc import Mapping, Sequence

from understudy.cli.durations import short
from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import NONE, status_colours, table
from understudy.model.quantity import format_quantity

HEAD = ["NAME", "GPU(Requests)", "GPU(Allocated)", "STATUS", "TRAINER", "AGE", "NODE"]


def of_jobs(jobs: Sequence[JobSummary], now: float, *, everywhere: bool = False, wide: bool = False) -> list[str]:
    rows = [[*HEAD, *(["CPU", "MEMORY"] if wide else [])]]
    for job in jobs:
        node = job.chief.shown_node if job.chief else NONE
        row = [job.name, str(job.gpus_requested), str(job.gpus_allocated), job.status, job.trainer]
        rows.append([*row, short(job.age(now)), node, *(_cpu_and_memory(job.requested) if wide else [])])
    if everywhere:
        rows = [[space, *row] for space, row in zip(["NAMESPACE", *(job.namespace for job in jobs)], rows, strict=True)]
    return table(rows, status_colours()) + _totals(jobs)


def of_instances(job: JobSummary, now: float) -> list[str]:
    rows = [["INSTANCE", "GPU(Requests)", "GPU(Allocated)", "CPU", "MEMORY", "STATUS", "AGE", "NODE"]]
    for one in job.instances:
        held = str(one.gpus if one.seated else 0)
        row = [one.name, str(one.gpus), held, *_cpu_and_memory(one.requests), one.status]
        rows.append([*row, short(now - one.created), one.shown_node])
    return table(rows, status_colours()) + _totals([job])


def _totals(jobs: Sequence[JobSummary]) -> list[str]:
    """What has ended holds and wants nothing."""
    wanted = sum(job.gpus_requested for job in jobs if not job.finished)
    held = sum(_held(job.instances) for job in jobs)
    return [
        "",
        "Total Allocated GPUs of Training Job:",
        str(held),
        "",
        "Total Requested GPUs of Training Job:",
        str(wanted),
    ]


def _held(instances: Sequence[Instance]) -> int:
    return sum(one.gpus for one in instances if one.seated)


def _cpu_and_memory(amounts: Mapping[str, int]) -> list[str]:
    return [format_quantity(amounts.get(name, 0), name) for name in ("cpu", "memory")]
