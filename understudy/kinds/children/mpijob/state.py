"""The state of an MPIJob: which workers exist, and how its launcher runs or ended."""

import msgspec

from understudy.kinds.children.actions import ObservedChildren
from understudy.kinds.children.job.pod_failures import FIRST_BACKOFF, LONGEST_BACKOFF
from understudy.kinds.children.job.spec import DEFAULT_BACKOFF_LIMIT
from understudy.kinds.children.mpijob.spec import FIRST, SECOND, MPIJobModel
from understudy.kinds.children.partial_objects import PartialJob, PartialObject, PartialPod, find_condition
from understudy.kinds.children.training.disruptions import is_disrupted
from understudy.kinds.children.training.state import RETRYABLE
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.objects.meta import Condition
from understudy.objects.mpi import LOST_WORKER
from understudy.objects.resources import CONFIG_MAPS


class MPIJobState(msgspec.Struct, frozen=True):
    workers: tuple[PartialPod | None, ...]  # by index
    surplus: tuple[PartialPod, ...]  # pods without a place
    pod: PartialPod | None  # the launcher, where it is a pod
    job: PartialJob | None  # or the Job that makes it
    config: PartialObject | None
    service: PartialObject | None

    @property
    def present(self) -> list[PartialPod]:
        return [worker for worker in self.workers if worker is not None]

    @property
    def ready(self) -> int:
        return sum(worker.ready and worker.active for worker in self.present)

    @property
    def running(self) -> int:
        return sum(worker.status.phase == "Running" and not worker.metadata.leaving for worker in self.present)

    @property
    def complete(self) -> bool:
        """Whether all workers are ready."""
        return self.ready == len(self.workers)

    @property
    def launcher_runs(self) -> bool:
        if self.job is not None:
            return self.job.status.ready > 0 and not self.job.spec.suspend
        return self.pod is not None and self.pod.status.phase == "Running" and not self.pod.metadata.leaving

    @property
    def launcher_rests(self) -> bool:
        """Whether nothing of it runs, and it has not ended for good."""
        if self.job is not None:
            return not is_job_ended(self.job) and (self.job.spec.suspend or self.job.status.active == 0)
        return self.pod is None or (not self.pod.active and self.pod.status.phase != "Succeeded")


def mpijob_state(job: MPIJobModel, observed: ObservedChildren) -> MPIJobState:
    pods = {pod.metadata.name: pod for pod in observed.pods}
    wanted = [job.worker_name(index) for index in range(job.workers)]
    launcher = None if job.has_launcher_job else job.launcher_name
    return MPIJobState(
        workers=tuple(pods.get(name) for name in wanted),
        surplus=tuple(pod for name, pod in sorted(pods.items()) if name not in (*wanted, launcher)),
        pod=pods.get(launcher) if launcher else None,
        job=next((one for one in observed.jobs if one.metadata.name == job.launcher_name), None),
        config=next(iter(observed.of(CONFIG_MAPS)), None),
        service=next(iter(observed.services), None),
    )


def failed_condition(job: PartialJob) -> Condition | None:
    found = find_condition(job.status.conditions, "Failed")
    return found if found is not None and found.status == "True" else None


def is_job_ended(job: PartialJob) -> bool:
    """Or about to be: it only has to put its pods on record."""
    return JOB_ENDS.is_ending(job.status.conditions)


def launcher_failures(job: MPIJobModel, pod: PartialPod) -> int:
    """How often launchers have failed by themselves, with this one."""
    return job.status.restarts + (pod.metadata.uid not in job.status.counted_pods)


def is_excused(pod: PartialPod) -> bool:
    """Of a launcher that failed: taken away by the cluster, or left without a worker that was."""
    ends = [container.state.terminated for container in pod.containers]
    return is_disrupted(pod) or any(end is not None and end.exit_code == LOST_WORKER for end in ends)


def is_retried(policy: str, pod: PartialPod) -> bool:
    """Whether a pod that failed by itself is to be tried again."""
    if policy != "ExitCode":
        return policy in ("OnFailure", "Always")
    codes = [container.state.terminated.exit_code for container in pod.containers if container.state.terminated]
    return all(code >= RETRYABLE for code in codes if code)


def next_try(job: MPIJobModel, pod: PartialPod) -> float:
    """The more failures, the later."""
    return pod.finished_at + float(
        min(FIRST_BACKOFF * (1 << min(launcher_failures(job, pod) - 1, 10)), LONGEST_BACKOFF)
    )


def replaceable_workers(job: MPIJobModel, state: MPIJobState) -> list[PartialPod]:
    """Workers that have ended and have to be deleted before others of the same name can be created."""
    failed = [worker for worker in state.present if worker.status.phase == "Failed" and not worker.metadata.leaving]
    if job.version == FIRST:
        return failed
    retried = job.worker_restarts if job.version == SECOND else ""
    return [worker for worker in failed if is_disrupted(worker) or is_retried(retried, worker)]


def fatal_worker(job: MPIJobModel, state: MPIJobState) -> PartialPod | None:
    """A worker whose failure is the job's."""
    spared = {worker.metadata.uid for worker in replaceable_workers(job, state)}
    for worker in state.present:
        over = worker.status.phase == "Failed" and not worker.metadata.leaving
        failed = over and worker.metadata.uid not in spared
        if failed and (job.version == SECOND or worker.status.reason == "Evicted"):
            return worker
        if job.version == FIRST and _crash_loops(job, worker):
            return worker
    return None


def _crash_loops(job: MPIJobModel, worker: PartialPod) -> bool:
    """Workers of the first version are restarted where they are, and the launcher that enters them cannot tell why."""
    limit = max(job.policy.backoff_limit or 0, DEFAULT_BACKOFF_LIMIT)
    return any(container.restart_count > limit for container in worker.containers)
