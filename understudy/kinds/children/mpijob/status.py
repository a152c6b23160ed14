"""An MPIJob's status as its version writes it: conditions and counts, or in the first version two words."""

from understudy.kinds.children.actions import Document, EventNote
from understudy.kinds.children.mpijob.spec import FIRST, THIRD, MPIJobModel
from understudy.kinds.children.mpijob.state import MPIJobState, is_job_ended
from understudy.kinds.children.partial_objects import PartialPod, whole_seconds
from understudy.kinds.children.training.status import ConditionChange, with_change, without_running
from understudy.objects.meta import has_condition


def mpi_condition(kind: str, message: str, status: str = "True", reason: str = "") -> ConditionChange:
    return ConditionChange(kind, reason or f"MPIJob{kind}", message, status)


def event_of(news: ConditionChange) -> EventNote:
    return EventNote(news.reason, news.message, "Warning" if news.type in ("Failed", "Restarting") else "Normal")


class MPIJobStatusWriter:
    """The status on its way from what it was to what it should be, and the events about the change."""

    def __init__(self, job: MPIJobModel, old: Document, state: MPIJobState, now: float) -> None:
        self._job = job
        self._now = now
        self.status: Document = {**old, **_figures(job, old, state)}
        self.notes: list[EventNote] = []

    def say(self, news: ConditionChange) -> None:
        if self._job.version == FIRST:
            return
        before = self.status.get("conditions") or []
        after = with_change(before, news, self._now)
        if after != before:
            self.status["conditions"] = after
            self.notes.append(event_of(news))

    def stop_running(self) -> None:
        if conditions := self.status.get("conditions"):
            self.status["conditions"] = without_running(conditions, self._now)

    def launcher_is(self, state: str) -> None:
        """In the words of the first version."""
        if self._job.version == FIRST:
            self.status.pop("launcherStatus", None)
            if state:
                self.status["launcherStatus"] = state

    def launcher_rests(self, since: float | None) -> None:
        self.status.pop("launcherRestsSince", None)
        if since is not None:
            self.status["launcherRestsSince"] = whole_seconds(since)

    def start(self, anew: bool) -> None:
        if anew or not self.status.get("startTime"):
            self.status["startTime"] = whole_seconds(self._now)

    def complete(self) -> None:
        self.status.setdefault("completionTime", whole_seconds(self._now))


def report_created(job: MPIJobModel, report: MPIJobStatusWriter) -> None:
    if not job.status.conditions:
        report.say(mpi_condition("Created", f"MPIJob {job.title} is created."))


def report_running(job: MPIJobModel, state: MPIJobState, report: MPIJobStatusWriter) -> None:
    """Running, or no longer so."""
    was_suspended = has_condition(job.status.conditions, "Suspended")
    if was_suspended:
        report.say(mpi_condition("Suspended", f"MPIJob {job.title} is resumed.", "False", "MPIJobResumed"))
    report.start(anew=was_suspended)
    active = state.job is not None and not is_job_ended(state.job) and state.job.status.active > 0
    report.launcher_is("Active" if active else "")
    together = state.running == len(state.workers) or job.version != THIRD
    if state.launcher_runs and together:
        report.say(mpi_condition("Running", f"MPIJob {job.title} is running."))
    elif state.launcher_rests and has_condition(job.status.conditions, "Running"):
        report.say(mpi_condition("Restarting", f"MPIJob {job.title} is restarting because its launcher is made again."))


def report_suspended(job: MPIJobModel, report: MPIJobStatusWriter) -> None:
    report.launcher_is("")
    report.launcher_rests(None)
    report.say(mpi_condition("Suspended", f"MPIJob {job.title} is suspended."))
    report.stop_running()
    if conditions := report.status.get("conditions"):
        report.status["conditions"] = [one for one in conditions if one["type"] != "Restarting"]


def _figures(job: MPIJobModel, old: Document, state: MPIJobState) -> Document:
    if job.version == FIRST:
        return {"workerReplicas": state.ready}
    known = (old.get("replicaStatuses") or {}).get("Launcher") or {}
    return {"replicaStatuses": {"Launcher": _launcher_figures(state, known), "Worker": _counted(state.present)}}


def _launcher_figures(state: MPIJobState, known: Document) -> Document:
    """A launcher that is gone is not active; how it ended stays on record."""
    if state.job is not None:
        status = state.job.status
        return _without_zeros({"active": status.active, "succeeded": status.succeeded, "failed": status.failed})
    if state.pod is not None:
        return _counted([state.pod])
    return {name: count for name, count in known.items() if name != "active"}


def _counted(pods: list[PartialPod]) -> Document:
    phases = [pod.status.phase for pod in pods]
    active = sum(pod.status.phase == "Running" and not pod.metadata.leaving for pod in pods)
    return _without_zeros({"active": active, "succeeded": phases.count("Succeeded"), "failed": phases.count("Failed")})


def _without_zeros(figures: dict[str, int]) -> Document:
    return {name: count for name, count in figures.items() if count}
