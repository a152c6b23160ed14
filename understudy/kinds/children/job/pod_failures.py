"""Failed pods: whether the cluster caused the failure, what the Job's policy says, and how long to wait before the next
pod."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from understudy.kinds.children.job.spec import FAILURE_COUNT, IGNORED_COUNT, JobObject, PodFailureRule
from understudy.kinds.children.partial_objects import PartialPod, find_condition
from understudy.kinds.pod_labels import COMPLETION_INDEX
from understudy.objects.meta import seconds

FIRST_BACKOFF, LONGEST_BACKOFF = 10.0, 600.0
DISRUPTION = "DisruptionTarget"
# Reasons for which the cluster itself evicts a pod: to make room, or because its node was lost or stopped. They cost no
# retries.
BLAMELESS = frozenset(
    {
        "PreemptionByScheduler",
        "DeletionByUnderstudy",
        "DeletionByPodGC",
        "DeletionByTaintManager",
        "TerminationByKubelet",
    }
)


def is_failed(job: JobObject, pod: PartialPod) -> bool:
    """A pod that is being deleted counts as failed, unless the Job waits for its result."""
    match pod.status.phase:
        case "Failed":
            return True
        case "Succeeded":
            return False
    return pod.departed if job.replaces_only_failed else pod.metadata.leaving


def is_disrupted(pod: PartialPod) -> bool:
    condition = find_condition(pod.status.conditions, DISRUPTION)
    return condition is not None and condition.status == "True"


def is_disruption(job: JobObject, pod: PartialPod) -> bool:
    """Evicted by the cluster, or failed while its Job was suspended: the peers of an evicted pod often fail with it."""
    if job.spec.suspend:
        return True
    condition = find_condition(pod.status.conditions, DISRUPTION)
    return condition is not None and condition.status == "True" and condition.reason in BLAMELESS


class PolicyAction(NamedTuple):
    """What the pod failure policy says about a pod; `action` is '' if no rule matches."""

    action: str = ""
    message: str = ""


NO_POLICY_ACTION = PolicyAction()


def policy_action(job: JobObject, pod: PartialPod) -> PolicyAction:
    """The first rule that matches decides."""
    if job.spec.pod_failure_policy is None or pod.status.phase != "Failed":
        return NO_POLICY_ACTION
    for position, rule in enumerate(job.spec.pod_failure_policy.rules):
        if why := _matched(rule, pod):
            return PolicyAction(rule.action, f"{why} matching {rule.action} rule at index {position}")
    return NO_POLICY_ACTION


def _matched(rule: PodFailureRule, pod: PartialPod) -> str:
    """The part of the pod that matches, as text; '' if none does."""
    meta = pod.metadata
    if rule.on_exit_codes is not None:
        for container in pod.containers:
            ended = container.state.terminated
            if ended is not None and rule.on_exit_codes.match(container.name, ended.exit_code):
                where = f"Container {container.name} for pod {meta.namespace}/{meta.name}"
                return f"{where} failed with exit code {ended.exit_code}"
        return ""
    for wanted in rule.on_pod_conditions:
        found = find_condition(pod.status.conditions, wanted.type)
        if found is not None and found.status == wanted.status:
            return f"Pod {meta.namespace}/{meta.name} has condition {wanted.type}"
    return ""


def index_of(pod: PartialPod) -> int | None:
    text = pod.metadata.annotations.get(COMPLETION_INDEX) or pod.metadata.labels.get(COMPLETION_INDEX, "")
    return int(text) if text.isdecimal() else None


class IndexFailures(NamedTuple):
    """How often an index failed before: failures that counted, and failures that its policy ignored."""

    counted: int = 0
    ignored: int = 0


def failures_before(pod: PartialPod) -> IndexFailures:
    """The failures before this pod, as recorded on the pod at its creation."""
    noted = pod.metadata.annotations
    texts = (noted.get(FAILURE_COUNT, "0"), noted.get(IGNORED_COUNT, "0"))
    return IndexFailures(*(int(text) if text.isdecimal() else 0 for text in texts))


def after_failure(job: JobObject, pod: PartialPod) -> IndexFailures:
    """The failures of the pod's index including its own."""
    before = failures_before(pod)
    if is_disruption(job, pod) or policy_action(job, pod).action == "Ignore":
        return IndexFailures(before.counted, before.ignored + 1)
    return IndexFailures(before.counted + 1, before.ignored)


def latest(pods: Iterable[PartialPod]) -> PartialPod | None:
    def made(pod: PartialPod) -> tuple[int, float, str]:
        return (sum(failures_before(pod)), seconds(pod.metadata.creation_timestamp) or 0.0, pod.metadata.name)

    return max(pods, key=made, default=None)


def backoff_until(job: JobObject, pods: Sequence[PartialPod]) -> float:
    """When the next pod may be created: the more failures since the last success, the later."""
    since = seconds(job.status.start_time) or 0.0
    ends = [(pod.finished_at, pod.status.phase) for pod in pods if pod.finished and not is_disrupted(pod)]
    last_success = max((end for end, phase in ends if phase == "Succeeded"), default=since)
    failures = [end for end, phase in ends if phase == "Failed" and end >= last_success]
    return max(failures) + _pause(len(failures)) if failures else 0.0


def index_backoff_until(job: JobObject, pod: PartialPod | None) -> float:
    """The same for one index; this is its last pod."""
    if pod is None or is_disrupted(pod) or not is_failed(job, pod):
        return 0.0
    return pod.finished_at + _pause(sum(after_failure(job, pod)))


def _pause(failures: int) -> float:
    return min(FIRST_BACKOFF * (1 << min(failures - 1, 10)), LONGEST_BACKOFF)
