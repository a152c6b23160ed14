"""CronJobs: defaults, and checks of their schedules and job templates."""

from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.batch import CronJob, CronJobStatus
from understudy.embedded.schema.validation import batch, pod_spec
from understudy.kinds.children.cronjob.schedule import parse_schedule, zone_of

_LONGEST_NAME = 52  # its jobs add 11 characters, and a pod's host name has 63 at most


def complete(cron: CronJob) -> None:
    batch.complete_spec(cron.spec.job_template.spec)


def begin(cron: CronJob, _: Lookup) -> None:
    cron.status = CronJobStatus()


def check(cron: CronJob) -> Iterator[Cause]:
    spec = cron.spec
    if len(cron.metadata.name or "") > _LONGEST_NAME:
        yield causes.bad_value("metadata.name", cron.metadata.name, f"must be no more than {_LONGEST_NAME} characters")
    if "TZ" in spec.schedule:
        yield causes.bad_value(
            "spec.schedule", spec.schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        )
    elif problem := _problem_of_schedule(spec.schedule):
        yield causes.bad_value("spec.schedule", spec.schedule, problem)
    if spec.time_zone is not UNSET:
        yield from _time_zone(spec.time_zone)
    yield from pod_spec.check_template(
        spec.job_template.spec.template, "spec.jobTemplate.spec.template", ("OnFailure", "Never")
    )


def _problem_of_schedule(text: str) -> str:
    try:
        parse_schedule(text)
    except ValueError as error:
        return str(error)
    return ""


def _time_zone(name: str) -> Iterator[Cause]:
    try:
        if not name or name.lower() == "local":
            raise ValueError("timeZone must be nil or non-empty, and not Local")
        zone_of(name)
    except ValueError as error:
        yield causes.bad_value("spec.timeZone", name, str(error))
