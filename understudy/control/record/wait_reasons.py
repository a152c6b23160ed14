"""Records why gangs wait: on their pods, or on their jobs where there are no pods."""

from understudy.control.record.event_formats import EventSubject
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.gang_parts import wants_a_seat
from understudy.decide.describe import reason_with_holder
from understudy.model.gangs import Suspension
from understudy.model.plans import Plan, Wait, WaitCode, WaitReason
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod

_PASSING = (
    WaitCode.SUSPENDED,
    WaitCode.STILL_LEAVING,
)  # the first is on the job already, and the second ends in a moment

EVENTS = 100  # pods of a gang that get an event; the others only show the reason as their condition


class WaitReasons:
    def __init__(self, view: ClusterView, recorder: EventRecorder) -> None:
        self._view = view
        self._recorder = recorder
        self._explained: dict[str, tuple[WaitReason, list[str]]] = {}

    def explain(self, plan: Plan, snapshot: Snapshot) -> None:
        """Records the reasons of all gangs that wait now. A reason that was written before is not written again.

        The pods of a requeued job are about to be deleted, so the reason is written on the job."""
        explained = {}
        for wait in plan.actions:
            if not isinstance(wait, Wait) or wait.reason.code in _PASSING:
                continue
            gang = snapshot.gangs.get(wait.gang)
            requeued = gang is not None and gang.suspension is Suspension.REQUEUED
            pods = [pod for pod in self._view.pods_of(wait.gang) if wants_a_seat(pod) and not requeued]
            current = explained[wait.gang] = (wait.reason, [pod.metadata.uid for pod in pods])
            if current != self._explained.get(wait.gang):
                self._tell(wait, pods)
        self._explained = explained

    def _tell(self, wait: Wait, pods: list[Pod]) -> None:
        words, gated = reason_with_holder(wait.reason), wait.reason.code is WaitCode.GATED
        job = self._view.job_of(wait.gang)
        subjects = [EventSubject.of(pod) for pod in pods] or ([EventSubject.of(job)] if job is not None else [])
        for number, subject in enumerate(subjects):
            self._recorder.record_wait(subject, words, gated, with_event=number < EVENTS)
