"""Jobs as kubectl prints them."""

from understudy.embedded.api.tables.human_duration import age, duration, seconds
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    ConditionFields,
    LabelSelectorFields,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    has_condition,
    joined_selector,
    wide,
)
from understudy.embedded.schema.served_resource import Column

_RANKED = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")


class ContainerFields(PrintedFields, frozen=True):
    name: str = ""
    image: str = ""


class PodSpecFields(PrintedFields, frozen=True):
    containers: tuple[ContainerFields, ...] = ()


class TemplateFields(PrintedFields, frozen=True):
    spec: PodSpecFields = PodSpecFields()


class JobSpecFields(PrintedFields, frozen=True):
    completions: int | None = None
    parallelism: int = 0
    template: TemplateFields = TemplateFields()
    selector: LabelSelectorFields = LabelSelectorFields()


class JobStatusFields(PrintedFields, frozen=True):
    succeeded: int = 0
    start_time: str = ""
    completion_time: str = ""
    conditions: tuple[ConditionFields, ...] = ()


class JobFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: JobSpecFields = JobSpecFields()
    status: JobStatusFields = JobStatusFields()


_COLUMNS = (
    NAME,
    Column("Status", description="How the job is doing, in a word."),
    Column("Completions", description="Pods that succeeded, of those wanted."),
    Column("Duration", description="Time from its start to its end, or to now."),
    AGE,
    wide("Containers", "Names of its pods' containers."),
    wide("Images", "Images of its pods' containers."),
    wide("Selector", "Labels by which it knows its pods."),
)


def _row(job: JobFields, now: float) -> Row:
    containers = job.spec.template.spec.containers
    return Row(
        [
            job.metadata.name,
            _status(job),
            _completions(job),
            _duration(job.status, now),
            age(job.metadata.creation_timestamp, now),
            ",".join(container.name for container in containers),
            ",".join(container.image for container in containers),
            joined_selector(job.spec.selector),
        ]
    )


def _status(job: JobFields) -> str:
    held = [kind for kind in _RANKED if has_condition(job.status.conditions, kind)]
    if held[:1] and held[0] in ("Complete", "Failed"):
        return held[0]
    if job.metadata.deletion_timestamp:
        return "Terminating"
    return held[0] if held else "Running"


def _completions(job: JobFields) -> str:
    if job.spec.completions is not None:
        return f"{job.status.succeeded}/{job.spec.completions}"
    several = f" of {job.spec.parallelism}" if job.spec.parallelism > 1 else ""
    return f"{job.status.succeeded}/1{several}"


def _duration(status: JobStatusFields, now: float) -> str:
    start, end = seconds(status.start_time), seconds(status.completion_time)
    if start is None:
        return ""
    return duration((now if end is None else end) - start)


JOBS = Printer(_COLUMNS, JobFields, _row)
