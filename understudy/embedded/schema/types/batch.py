"""Jobs, pods that run to completion, and CronJobs, which make Jobs by the clock."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import ApiStruct, KubeObject, LabelSelector, ObjectMeta, ObjectReference
from understudy.embedded.schema.types.pods import PodTemplateSpec
from understudy.embedded.schema.types.values import Count, Int32, Maybe, NonEmpty, PositiveSeconds, Seconds, Time, keyed


class PodFailurePolicyOnExitCodesRequirement(ApiStruct):
    """Exit codes that a rule is about."""

    operator: Literal["In", "NotIn"]
    values: list[Int32]
    container_name: Maybe[str] = UNSET


class PodFailurePolicyOnPodConditionsPattern(ApiStruct):
    """A pod condition that a rule is about."""

    type: NonEmpty
    status: str = "True"


class PodFailurePolicyRule(ApiStruct):
    """What a certain kind of failure means."""

    action: Literal["Count", "FailIndex", "FailJob", "Ignore"]
    on_exit_codes: Maybe[PodFailurePolicyOnExitCodesRequirement] = UNSET
    on_pod_conditions: Maybe[list[PodFailurePolicyOnPodConditionsPattern]] = UNSET


class PodFailurePolicy(ApiStruct):
    """What failures of pods mean for the job. The first rule that applies decides."""

    rules: list[PodFailurePolicyRule]


class SuccessPolicyRule(ApiStruct):
    """Which indexes must succeed."""

    succeeded_count: Maybe[Int32] = UNSET
    succeeded_indexes: Maybe[str] = UNSET


class SuccessPolicy(ApiStruct):
    """When the job has succeeded before all of its pods have."""

    rules: list[SuccessPolicyRule]


class JobSpec(ApiStruct):
    """What the job runs, how often, and when it gives up."""

    template: PodTemplateSpec
    active_deadline_seconds: Maybe[PositiveSeconds] = UNSET
    backoff_limit: Maybe[Count] = UNSET
    backoff_limit_per_index: Maybe[Count] = UNSET
    completion_mode: Literal["NonIndexed", "Indexed"] = "NonIndexed"
    completions: Maybe[Count] = UNSET
    managed_by: Maybe[str] = UNSET
    manual_selector: Maybe[bool] = UNSET
    max_failed_indexes: Maybe[Count] = UNSET
    parallelism: Maybe[Count] = UNSET
    pod_failure_policy: Maybe[PodFailurePolicy] = UNSET
    pod_replacement_policy: Maybe[Literal["TerminatingOrFailed", "Failed"]] = UNSET
    selector: Maybe[LabelSelector] = UNSET
    success_policy: Maybe[SuccessPolicy] = UNSET
    suspend: bool = False
    ttl_seconds_after_finished: Maybe[Count] = UNSET


class JobCondition(ApiStruct):
    """One thing that is true, false or unknown about the job."""

    type: NonEmpty
    status: str
    last_probe_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class UncountedTerminatedPods(ApiStruct):
    """Pods that ended and are not counted yet."""

    failed: Annotated[Maybe[list[str]], keyed()] = UNSET
    succeeded: Annotated[Maybe[list[str]], keyed()] = UNSET


class JobStatus(ApiStruct):
    """How far the job has come."""

    active: Maybe[Int32] = UNSET
    completed_indexes: Maybe[str] = UNSET
    completion_time: Maybe[Time] = UNSET
    conditions: Annotated[Maybe[list[JobCondition]], keyed("type")] = UNSET
    failed: Maybe[Int32] = UNSET
    failed_indexes: Maybe[str] = UNSET
    ready: Maybe[Int32] = UNSET
    start_time: Maybe[Time] = UNSET
    succeeded: Maybe[Int32] = UNSET
    terminating: Maybe[Int32] = UNSET
    uncounted_terminated_pods: Maybe[UncountedTerminatedPods] = UNSET


class Job(KubeObject, kw_only=True):
    """Pods that are run until enough of them have succeeded."""

    api_version: str = "batch/v1"
    kind: str = "Job"
    spec: JobSpec
    status: JobStatus = field(default_factory=JobStatus)


class JobTemplateSpec(ApiStruct):
    """A job to be made."""

    spec: JobSpec
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class CronJobSpec(ApiStruct):
    """Which job is made, and when."""

    job_template: JobTemplateSpec
    schedule: NonEmpty
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    failed_jobs_history_limit: Count = 1
    starting_deadline_seconds: Maybe[Seconds] = UNSET
    successful_jobs_history_limit: Count = 3
    suspend: bool = False
    time_zone: Maybe[str] = UNSET


class CronJobStatus(ApiStruct):
    """The jobs that run, and when the last ones began and succeeded."""

    active: Maybe[list[ObjectReference]] = UNSET
    last_schedule_time: Maybe[Time] = UNSET
    last_successful_time: Maybe[Time] = UNSET


class CronJob(KubeObject, kw_only=True):
    """Makes jobs by the clock."""

    api_version: str = "batch/v1"
    kind: str = "CronJob"
    spec: CronJobSpec
    status: CronJobStatus = field(default_factory=CronJobStatus)
