"""Jobs into the lines of `understudy list`."""

from collections.abc import Mapping, Sequence

from understudy.cli.durations import short
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import NONE, status_colours, table

LONGEST_REASON = 80


def in_short(jobs: Sequence[JobSummary], now: float, *, everywhere: bool = False) -> list[str]:
    rows = [["NAME", "STATUS", "TRAINER", "AGE", "NODE"], *(_row(job, now) for job in jobs)]
    if everywhere:
        rows = [[space, *row] for space, row in zip(["NAMESPACE", *(job.namespace for job in jobs)], rows, strict=True)]
    return table(rows, status_colours())


def in_width(jobs: Sequence[JobSummary], setbacks: Mapping[str, int], now: float) -> list[str]:
    """`setbacks` says by uid how often a job had to give up its seats."""
    head = ["NAMESPACE", "NAME", "STATUS", "TRAINER", "AGE", "NODE", "PRIORITY", "DURATION", "INSTANCES"]
    head += ["GPU(Requested)", "GPU(Allocated)", "PREEMPTIONS", "REASON"]
    rows = [head]
    for job in jobs:
        running = sum(1 for one in job.instances if one.status == "RUNNING" and not one.leaving)
        row = [job.namespace, *_row(job, now), job.priority, short(job.duration(now))]
        row += [f"{running}/{len(job.instances)}", str(job.gpus_requested), str(job.gpus_allocated)]
        rows.append([*row, str(setbacks.get(job.uid, 0)), shortened(job.reason)])
    return table(rows, status_colours())


def _row(job: JobSummary, now: float) -> list[str]:
    node = job.chief.shown_node if job.chief else NONE
    return [job.name, job.status, job.trainer, short(job.age(now)), node]


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
