"""Workloads that run on, their revisions, and CronJobs, as kubectl prints them."""

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.jobs import PodSpecFields, TemplateFields
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cell,
    LabelSelectorFields,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    joined_labels,
    joined_selector,
    wide,
)
from understudy.embedded.schema.served_resource import Column


class WorkloadSpecFields(PrintedFields, frozen=True):
    replicas: int = 0
    template: TemplateFields = TemplateFields()
    selector: LabelSelectorFields = LabelSelectorFields()


class WorkloadStatusFields(PrintedFields, frozen=True):
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    updated_number_scheduled: int = 0


class WorkloadFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: WorkloadSpecFields = WorkloadSpecFields()
    status: WorkloadStatusFields = WorkloadStatusFields()


class SelectingPodSpecFields(PodSpecFields, frozen=True):
    node_selector: dict[str, str] = field(default_factory=dict)


class SelectingTemplateFields(PrintedFields, frozen=True):
    spec: SelectingPodSpecFields = SelectingPodSpecFields()


class DaemonSetSpecFields(PrintedFields, frozen=True):
    template: SelectingTemplateFields = SelectingTemplateFields()
    selector: LabelSelectorFields = LabelSelectorFields()


class DaemonSetFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: DaemonSetSpecFields = DaemonSetSpecFields()
    status: WorkloadStatusFields = WorkloadStatusFields()


class OwnerFields(PrintedFields, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool = False


class OwnedMetaFields(MetaFields, frozen=True):
    owner_references: tuple[OwnerFields, ...] = ()


class RevisionFields(PrintedFields, frozen=True):
    metadata: OwnedMetaFields = OwnedMetaFields()
    revision: int = 0


class JobTemplateSpecFields(PrintedFields, frozen=True):
    template: TemplateFields = TemplateFields()
    selector: LabelSelectorFields = LabelSelectorFields()


class JobTemplateFields(PrintedFields, frozen=True):
    spec: JobTemplateSpecFields = JobTemplateSpecFields()


class CronJobSpecFields(PrintedFields, frozen=True):
    schedule: str = ""
    time_zone: str = NONE
    suspend: bool = False
    job_template: JobTemplateFields = JobTemplateFields()


class CronJobStatusFields(PrintedFields, frozen=True):
    active: tuple[dict[str, str], ...] = ()
    last_schedule_time: str = ""


class CronJobFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: CronJobSpecFields = CronJobSpecFields()
    status: CronJobStatusFields = CronJobStatusFields()


def _containers(spec: PodSpecFields) -> list[Cell]:
    names = ",".join(container.name for container in spec.containers)
    return [names, ",".join(container.image for container in spec.containers)]


def _deployment(one: WorkloadFields, now: float) -> Row:
    status = one.status
    ready = f"{status.ready_replicas}/{one.spec.replicas}"
    figures: list[Cell] = [one.metadata.name, ready, status.updated_replicas, status.available_replicas]
    selector = joined_selector(one.spec.selector)
    created = age(one.metadata.creation_timestamp, now)
    return Row([*figures, created, *_containers(one.spec.template.spec), selector])


def _replica_set(one: WorkloadFields, now: float) -> Row:
    figures: list[Cell] = [one.metadata.name, one.spec.replicas, one.status.replicas, one.status.ready_replicas]
    selector = joined_selector(one.spec.selector)
    created = age(one.metadata.creation_timestamp, now)
    return Row([*figures, created, *_containers(one.spec.template.spec), selector])


def _stateful_set(one: WorkloadFields, now: float) -> Row:
    ready = f"{one.status.ready_replicas}/{one.spec.replicas}"
    return Row(
        [one.metadata.name, ready, age(one.metadata.creation_timestamp, now), *_containers(one.spec.template.spec)]
    )


def _daemon_set(one: DaemonSetFields, now: float) -> Row:
    status, spec = one.status, one.spec.template.spec
    figures: list[Cell] = [
        one.metadata.name,
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_ready,
        status.updated_number_scheduled,
        status.number_available,
        joined_labels(spec.node_selector),
    ]
    created = age(one.metadata.creation_timestamp, now)
    return Row([*figures, created, *_containers(spec), joined_selector(one.spec.selector)])


def _revision(one: RevisionFields, now: float) -> Row:
    owner = next((each for each in one.metadata.owner_references if each.controller), None)
    kind = f"{owner.kind.lower()}.{owner.api_version.partition('/')[0]}" if owner else ""
    controller = f"{kind}/{owner.name}" if owner else NONE
    return Row([one.metadata.name, controller, one.revision, age(one.metadata.creation_timestamp, now)])


def _cron_job(one: CronJobFields, now: float) -> Row:
    spec, last = one.spec, one.status.last_schedule_time
    figures: list[Cell] = [one.metadata.name, spec.schedule, spec.time_zone, str(spec.suspend), len(one.status.active)]
    job = spec.job_template.spec
    times: list[Cell] = [age(last, now) if last else NONE, age(one.metadata.creation_timestamp, now)]
    return Row([*figures, *times, *_containers(job.template.spec), joined_selector(job.selector)])


_CONTAINERS = (
    wide("Containers", "Names of its pods' containers."),
    wide("Images", "Images of its pods' containers."),
)
_SELECTOR = wide("Selector", "Labels by which it knows its pods.")
_READY = Column("Ready", description="Pods that are ready, of those wanted.")


def _count(name: str, description: str) -> Column:
    return Column(name, "integer", description=description)


DEPLOYMENTS = Printer(
    (
        NAME,
        _READY,
        _count("Up-to-date", "Pods of the present template."),
        _count("Available", "Pods that have been ready for long enough."),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    WorkloadFields,
    _deployment,
)
REPLICA_SETS = Printer(
    (
        NAME,
        _count("Desired", "Pods that are wanted."),
        _count("Current", "Pods that exist."),
        _count("Ready", "Pods that are ready."),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    WorkloadFields,
    _replica_set,
)
STATEFUL_SETS = Printer((NAME, _READY, AGE, *_CONTAINERS), WorkloadFields, _stateful_set)
DAEMON_SETS = Printer(
    (
        NAME,
        _count("Desired", "Nodes that should have a pod."),
        _count("Current", "Nodes that have one."),
        _count("Ready", "Nodes whose pod is ready."),
        _count("Up-to-date", "Nodes with a pod of the present template."),
        _count("Available", "Nodes whose pod has been ready for long enough."),
        Column("Node Selector", description="Labels that a node must have."),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    DaemonSetFields,
    _daemon_set,
)
CONTROLLER_REVISIONS = Printer(
    (NAME, Column("Controller", description="Whose template it was."), _count("Revision", "Its number."), AGE),
    RevisionFields,
    _revision,
)
CRON_JOBS = Printer(
    (
        NAME,
        Column("Schedule", description="When jobs are made, as a cron expression."),
        Column("Timezone", description="The time zone of the schedule."),
        Column("Suspend", description="Whether no jobs are made."),
        _count("Active", "Jobs that run."),
        Column("Last Schedule", description="Time since the last job was due."),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    CronJobFields,
    _cron_job,
)
