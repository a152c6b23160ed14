"""An MPIJob's status as its version writes it: conditions and figures, or in the first version two words."""

from understudy.kinds.children.mpijob.objects import FIRST, THIRD, MPIJob
from understudy.kinds.children.mpijob.standing import Standing, job_is_over
from understudy.kinds.children.seen import SeenPod, written
from understudy.kinds.children.training.conditions import News, with_news, without_running
from understudy.kinds.children.wanted import Document, Note
from understudy.objects.meta import holds


def said(kind: str, message: str, status: str = "True", reason: str = "") -> News:
    return News(kind, reason or f"MPIJob{kind}", message, status)


def noted(news: News) -> Note:
    return Note(news.reason, news.message, "Warning" if news.type in ("Failed", "Restarting") else "Normal")


class Report:
    """The status on its way from what it was to what it should be, and what there is to tell of the change."""

    def __init__(self, job: MPIJob, old: Document, standing: Standing, now: float) -> None:
        self._job = job
        self._now = now
        self.status: Document = {**old, **_figures(job, old, standing)}
        self.notes: list[Note] = []

    def say(self, news: News) -> None:
        if self._job.version == FIRST:
            return
        before = self.status.get("conditions") or []
        after = with_news(before, news, self._now)
        if after != before:
            self.status["conditions"] = after
            self.notes.append(noted(news))

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
            self.status["launcherRestsSince"] = written(since)

    def start(self, anew: bool) -> None:
        if anew or not self.status.get("startTime"):
            self.status["startTime"] = written(self._now)

    def complete(self) -> None:
        self.status.setdefault("completionTime", written(self._now))


def beginning(job: MPIJob, report: Report) -> None:
    if not job.status.conditions:
        report.say(said("Created", f"MPIJob {job.title} is created."))


def going(job: MPIJob, standing: Standing, report: Report) -> None:
    """Running, or no longer so."""
    was_suspended = holds(job.status.conditions, "Suspended")
    if was_suspended:
        report.say(said("Suspended", f"MPIJob {job.title} is resumed.", "False", "MPIJobResumed"))
    report.start(anew=was_suspended)
    active = standing.job is not None and not job_is_over(standing.job) and standing.job.status.active > 0
    report.launcher_is("Active" if active else "")
    together = standing.running == len(standing.workers) or job.version != THIRD
    if standing.launcher_runs and together:
        report.say(said("Running", f"MPIJob {job.title} is running."))
    elif standing.launcher_rests and holds(job.status.conditions, "Running"):
        report.say(said("Restarting", f"MPIJob {job.title} is restarting because its launcher is made again."))


def standing_back(job: MPIJob, report: Report) -> None:
    report.launcher_is("")
    report.launcher_rests(None)
    report.say(said("Suspended", f"MPIJob {job.title} is suspended."))
    report.stop_running()
    if conditions := report.status.get("conditions"):
        report.status["conditions"] = [one for one in conditions if one["type"] != "Restarting"]


def _figures(job: MPIJob, old: Document, standing: Standing) -> Document:
    if job.version == FIRST:
        return {"workerReplicas": standing.ready}
    launcher = _launcher_figures(standing) or (old.get("replicaStatuses") or {}).get("Launcher", {})
    return {"replicaStatuses": {"Launcher": launcher, "Worker": _counted(standing.present)}}


def _launcher_figures(standing: Standing) -> Document:
    """Of a launcher that is gone, what was known last."""
    if standing.job is not None:
        status = standing.job.status
        return _told({"active": status.active, "succeeded": status.succeeded, "failed": status.failed})
    return _counted([standing.pod]) if standing.pod is not None else {}


def _counted(pods: list[SeenPod]) -> Document:
    phases = [pod.status.phase for pod in pods]
    active = sum(pod.status.phase == "Running" and not pod.metadata.leaving for pod in pods)
    return _told({"active": active, "succeeded": phases.count("Succeeded"), "failed": phases.count("Failed")})


def _told(figures: dict[str, int]) -> Document:
    return {name: count for name, count in figures.items() if count}
