"""One look at a job into the few lines of a view that fits the terminal."""

from collections.abc import Callable

from understudy.cli.durations import short
from understudy.cli.jobs.happenings import source
from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import status_colours, table

FIXED = 5  # lines besides those of instances: the state, a blank, the head of the table, a blank, the event
FEWEST = 3


def frame(job: JobSummary, event: SeenEvent | None, now: float, size: tuple[int, int]) -> list[str]:
    """`size` is columns and lines."""
    columns, lines = size
    paint = status_colours()
    state = [f"{job.name}  {job.status}  {job.trainer}", f"priority {job.priority}", f"age {short(job.age(now))}"]
    state += [f"training {short(job.duration(now))}", f"GPUs {job.gpus_allocated}/{job.gpus_requested}"]
    said = [_cut("  ".join(state), columns).replace(job.status, paint(job.status), 1)]
    if job.reason:
        said.append(_cut(f"  {job.reason}", columns))
    shown, left = _fitting(job.instances, max(FEWEST, lines - FIXED - len(said)))
    if shown:
        rows = [["INSTANCE", "STATUS", "NODE", "UP"], *(_row(one, now) for one in shown)]
        said += ["", *(_painted(_cut(line, columns), paint) for line in table(rows))]
    if left:
        said.append(f"and {left} more")
    if event is not None:
        words = f"{short(now - event.at)} ago  {source(event)}  {event.reason}: {' '.join(event.message.split())}"
        said += ["", _cut(words, columns)]
    return said


def _fitting(instances: tuple[Instance, ...], room: int) -> tuple[list[Instance], int]:
    """Where not all fit, those that do not run are shown first."""
    if len(instances) <= room:
        return list(instances), 0
    order = sorted(instances, key=lambda one: one.status == "RUNNING")[: room - 1]
    return order, len(instances) - len(order)


def _row(one: Instance, now: float) -> list[str]:
    up = short((one.ended or now) - one.started) if one.started is not None else ""
    return [one.name, "TERMINATING" if one.leaving else one.status, one.shown_node, up]


def _painted(line: str, paint: Callable[[str], str]) -> str:
    for word in ("RUNNING", "PENDING", "FAILED", "SUCCEEDED"):
        if f" {word} " in f"{line} ":
            return line.replace(f" {word}", f" {paint(word)}", 1)
    return line


def _cut(text: str, columns: int) -> str:
    return text if len(text) < columns else f"{text[: max(0, columns - 2)]}…"
