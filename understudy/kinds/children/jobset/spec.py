"""JobSet as its controller reads it: groups of Jobs, the policies for their ends, and the recorded status."""

import msgspec

from understudy.kinds.children.partial_objects import FullMeta
from understudy.kinds.end_conditions import JOBSET_ENDS
from understudy.objects.meta import Condition, Part

OWN_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
PREFIX = "jobset.sigs.k8s.io/"
ATTEMPT = f"{PREFIX}restart-attempt"
JOB_ATTEMPT = f"{PREFIX}job-restart-attempt"  # of a Job that was restarted alone


class DependsOn(Part, frozen=True, gc=False):
    name: str
    status: str = "Ready"  # or Complete


class JobSpecFigures(Part, frozen=True, gc=False):
    parallelism: int | None = None
    completions: int | None = None


class JobTemplate(Part, frozen=True, gc=False):
    spec: JobSpecFigures = JobSpecFigures()


class ReplicatedJob(Part, frozen=True, gc=False):
    name: str
    replicas: int = 1
    group_name: str = "default"
    depends_on: tuple[DependsOn, ...] = ()
    template: JobTemplate = JobTemplate()


class Network(Part, frozen=True, gc=False):
    enable_dns_hostnames: bool = msgspec.field(name="enableDNSHostnames", default=True)
    subdomain: str = ""
    publish_not_ready_addresses: bool = True


class JobSetSuccessPolicy(Part, frozen=True, gc=False):
    operator: str = "All"  # or Any
    target_replicated_jobs: tuple[str, ...] = ()


class JobFailureRule(Part, frozen=True, gc=False):
    action: str
    target_replicated_jobs: tuple[str, ...] = ()
    on_job_failure_reasons: tuple[str, ...] = ()


class JobSetFailurePolicy(Part, frozen=True, gc=False):
    max_restarts: int = 0
    rules: tuple[JobFailureRule, ...] = ()
    restart_strategy: str = "Recreate"  # or BlockingRecreate


class StartupPolicy(Part, frozen=True, gc=False):
    startup_policy_order: str = "AnyOrder"  # or InOrder


class Coordinator(Part, frozen=True, gc=False):
    replicated_job: str
    job_index: int = 0
    pod_index: int = 0


class JobSetSpec(Part, frozen=True, gc=False):
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    network: Network = Network()
    success_policy: JobSetSuccessPolicy = JobSetSuccessPolicy()
    failure_policy: JobSetFailurePolicy | None = None
    startup_policy: StartupPolicy = StartupPolicy()
    suspend: bool = False
    coordinator: Coordinator | None = None
    managed_by: str = ""
    ttl_seconds_after_finished: int | None = None


class GroupRestarts(Part, frozen=True, gc=False):
    """How often the Jobs of a group were restarted alone, by their index."""

    name: str
    job_restarts: tuple[int, ...] = ()
    job_restarts_count_towards_max: tuple[int, ...] = ()


class JobSetStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    restarts: int = 0
    restarts_count_towards_max: int = 0
    replicated_jobs_status: tuple[GroupRestarts, ...] = ()
    terminal_state: str = ""

    def of_group(self, name: str) -> GroupRestarts:
        return next((group for group in self.replicated_jobs_status if group.name == name), GroupRestarts(name))

    @property
    def counted_restarts(self) -> int:
        """Those of all Jobs, and of Jobs alone, that count towards the most restarts there may be."""
        alone = sum(sum(group.job_restarts_count_towards_max) for group in self.replicated_jobs_status)
        return self.restarts_count_towards_max + alone


class JobSetObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: JobSetSpec
    status: JobSetStatus = JobSetStatus()

    @property
    def finished(self) -> bool:
        return JOBSET_ENDS.has_ended(self.status.conditions)

    @property
    def subdomain(self) -> str:
        """'' where its pods have no names for each other."""
        network = self.spec.network
        return (network.subdomain or self.metadata.name) if network.enable_dns_hostnames else ""

    def job_name(self, group: ReplicatedJob, index: int) -> str:
        return f"{self.metadata.name}-{group.name}-{index}"

    def job_attempt(self, group: str, index: int) -> int:
        """How often this Job was restarted alone."""
        counts = self.status.of_group(group).job_restarts
        return counts[index] if index < len(counts) else 0
