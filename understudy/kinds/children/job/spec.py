"""batch/v1 Job as its controller reads it: the specification of its pods, and the recorded counts."""

from understudy.kinds.children.partial_objects import FullMeta
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.objects.meta import Condition, Part, Time

TRACKING = "batch.kubernetes.io/job-tracking"  # the finalizer of pods that have not been counted yet
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
OWN_CONTROLLER = "kubernetes.io/job-controller"
DEFAULT_BACKOFF_LIMIT = 6


class ExitCodes(Part, frozen=True, gc=False):
    operator: str
    values: tuple[int, ...]
    container_name: str = ""

    def match(self, container: str, code: int) -> bool:
        if code == 0 or (self.container_name and self.container_name != container):
            return False
        return (code in self.values) == (self.operator == "In")


class PodCondition(Part, frozen=True, gc=False):
    type: str
    status: str = "True"


class PodFailureRule(Part, frozen=True, gc=False):
    action: str  # FailJob, FailIndex, Ignore, Count
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[PodCondition, ...] = ()


class PodFailurePolicy(Part, frozen=True, gc=False):
    rules: tuple[PodFailureRule, ...] = ()


class JobSuccessRule(Part, frozen=True, gc=False):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class JobSuccessPolicy(Part, frozen=True, gc=False):
    rules: tuple[JobSuccessRule, ...] = ()


class TemplateSpec(Part, frozen=True, gc=False):
    restart_policy: str = "Always"


class Template(Part, frozen=True, gc=False):
    spec: TemplateSpec = TemplateSpec()


class JobSpec(Part, frozen=True, gc=False):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str = ""
    success_policy: JobSuccessPolicy | None = None
    managed_by: str = ""
    template: Template = Template()


class Uncounted(Part, frozen=True, gc=False):
    """Pods, by uid, that were counted but may still have the finalizer."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    uncounted_terminated_pods: Uncounted = Uncounted()


class JobObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: JobSpec
    status: JobStatus = JobStatus()

    @property
    def indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def completions(self) -> int | None:
        """None: a work queue, whose pods know when no work is left."""
        return self.spec.completions

    @property
    def backoff_limit(self) -> int | None:
        """None: no limit for the Job as a whole."""
        if self.spec.backoff_limit is None:
            return DEFAULT_BACKOFF_LIMIT if self.spec.backoff_limit_per_index is None else None
        return self.spec.backoff_limit

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a pod that is being deleted counts, and is replaced, only after it has ended."""
        return self.spec.pod_replacement_policy == "Failed" or self.spec.pod_failure_policy is not None

    @property
    def finished(self) -> bool:
        return JOB_ENDS.has_ended(self.status.conditions)
