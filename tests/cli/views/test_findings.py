"""Every cause of the table is found by its evidence, as Kubernetes and Understudy write it, and says the way out."""

from typing import Any

import msgspec
import pytest

from tests.cli.queries.documents import NOW, ago, conditions, event, job, pod, summary
from understudy.cli.queries.objects import EventInfo, PodInfo
from understudy.cli.verbs.jobs.get import job_lines
from understudy.cli.verbs.jobs.list_jobs import wide_list_lines
from understudy.cli.views.causes import CAUSES
from understudy.cli.views.findings import Finding, find_causes, is_unexplained, with_event_reason

State = dict[str, Any]


def waiting(reason: str, message: str = "") -> State:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str = "Error", message: str = "", seconds: float = 5) -> State:
    said = {"exitCode": code, "reason": reason, "message": message, "finishedAt": ago(seconds)}
    return {"terminated": said}


def pod_with(state: State, *, name: str = "train-a", phase: str = "Pending", last: State | None = None) -> PodInfo:
    container = {"name": "main", "restartCount": 4 if last else 0, "state": state, "lastState": last or {}}
    return _with_status(pod(name, phase), {"containerStatuses": [container]})


def pod_with_init(state: State, phase: str = "Failed") -> PodInfo:
    statuses = {
        "initContainerStatuses": [{"name": "init-code", "state": state}],
        "containerStatuses": [{"name": "main", "state": waiting("PodInitializing")}],
    }
    return _with_status(pod("train-a", phase), statuses)


def _with_status(made: PodInfo, statuses: State) -> PodInfo:
    body = msgspec.to_builtins(made)
    return msgspec.convert({**body, "status": {**body["status"], **statuses}}, PodInfo)


def told(about: str, reason: str, message: str, age: float = 10) -> EventInfo:
    return event(about, reason, message, age=age, type="Warning")


def found(*pods: PodInfo, events: tuple[EventInfo, ...] = (), failed: str = "") -> list[Finding]:
    status = {"conditions": [{"type": "Failed", "status": "True", "reason": failed}]} if failed else {}
    return find_causes(summary(job("Job", status=status), *pods), list(events))


NO_CLASS = 'Error creating: pods "train-x" is forbidden: no PriorityClass with name urgent was found'
QUOTA = 'Error creating: pods "train-x" is forbidden: exceeded quota: gpus, requested: pods=1, limited: pods=2'
NO_ACCOUNT = 'Error creating: pods "train-x" is forbidden: error looking up service account default/nope: not found'
MOUNT = 'MountVolume.SetUp failed for volume "d" : '
EXEC = 'exec: "pythonn": executable file not found in $PATH'
RUNC = 'failed to create containerd task: exec: \\"pythonn\\": executable file not found in $PATH: unknown'
STARTING = pod_with(waiting("ContainerCreating"))
LOOP = pod_with(waiting("CrashLoopBackOff", "back-off 40s restarting failed container"), phase="Running", last=ended(3))

CASES = {
    "missing PriorityClass": ([], [told("Job/train", "FailedCreate", NO_CLASS)], "urgent", "priority create urgent"),
    "missing service account": ([], [told("Job/train", "FailedCreate", NO_ACCOUNT)], "default/nope", "Create it"),
    "quota": ([], [told("Job/train", "FailedCreate", QUOTA)], "ResourceQuota gpus", "describe resourcequota gpus"),
    "pods refused": (
        [],
        [told("Job/train", "FailedCreate", "Error creating: no house rule")],
        "no house rule",
        "Correct",
    ),
    "missing PersistentVolumeClaim": (
        [pod("train-a", "Pending", node="", waits="PersistentVolumeClaim default/data does not exist")],
        [],
        "no PersistentVolumeClaim default/data",
        "Create the claim",
    ),
    "unbound PersistentVolumeClaim": (
        [pod("train-a", "Pending", node="", waits="0/3 nodes: pod has unbound immediate PersistentVolumeClaims")],
        [],
        "not bound",
        "kubectl get pvc",
    ),
    "missing key": (
        [pod_with(waiting("CreateContainerConfigError", "couldn't find key token in Secret default/keys"))],
        [],
        "a Secret has no key token",
        "Add the key",
    ),
    "missing ConfigMap": (
        [STARTING],
        [told("Pod/train-a", "FailedMount", f'{MOUNT}configmap "conf" not found')],
        "no ConfigMap conf",
        "Create it in namespace default",
    ),
    "missing Secret": (
        [pod_with(waiting("CreateContainerConfigError", 'secret "keys" not found'))],
        [],
        "no Secret keys",
        "Create it in namespace default",
    ),
    "volume not mounted": (
        [STARTING],
        [told("Pod/train-a", "FailedMount", f"{MOUNT}hostPath type check failed")],
        "hostPath type check failed",
        "kubectl describe pod train-a",
    ),
    "image not pulled": (
        [pod_with(waiting("ImagePullBackOff", 'Back-off pulling image "nope:1"'))],
        [],
        "ImagePullBackOff",
        "--image",
    ),
    "crash loop": ([LOOP], [], "restarted 4 times, and its last exit code is 3", "understudy logs train`"),
    "failed init container": (
        [pod_with_init(ended(128))],
        [],
        "init-code ended with exit code 128",
        "logs train -c init-code",
    ),
    "no such program": (
        [pod_with(ended(128, "StartError", EXEC), phase="Failed")],
        [],
        "no program pythonn",
        "command",
    ),
    "container not started": (
        [pod_with(waiting("CreateContainerError", "the runtime said no"))],
        [],
        "the runtime said no",
        "Correct",
    ),
    "out of memory": (
        [pod_with(ended(137, "OOMKilled"), phase="Failed")],
        [],
        "more memory than its limit",
        "--memory",
    ),
    "command not found": ([pod_with(ended(127), phase="Failed")], [], "did not find a program", "Correct the command"),
    "command not executable": ([pod_with(ended(126), phase="Failed")], [], "may not be executed", "chmod"),
    "killed": ([pod_with(ended(137), phase="Failed")], [], "SIGKILL", "understudy events train"),
    "terminated": ([pod_with(ended(143), phase="Failed")], [], "SIGTERM", "understudy events train"),
    "crashed": ([pod_with(ended(139), phase="Failed")], [], "native code", "log"),
    "program failed": ([pod_with(ended(7), phase="Failed")], [], "with exit code 7", "understudy logs train"),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_cause_is_found_by_its_evidence_and_has_a_way_out(cause: str) -> None:
    pods, events, says, helps = CASES[cause]
    [one] = found(*pods, events=tuple(events))
    assert (one.cause, says in one.says, helps in one.help) == (cause, True, True), one


@pytest.mark.parametrize(
    ("reason", "cause"), [("BackoffLimitExceeded", "retries used up"), ("DeadlineExceeded", "ran too long")]
)
def test_a_job_that_gave_up_says_which_limit_it_reached(reason: str, cause: str) -> None:
    assert [one.cause for one in found(failed=reason)] == [cause]


def test_every_cause_has_a_test() -> None:
    assert {cause.name for cause in CAUSES} == {*CASES, "retries used up", "ran too long"}


@pytest.mark.parametrize("state", [waiting("RunContainerError", RUNC), ended(128, "StartError", RUNC)])
def test_the_words_of_containerd_name_the_program_too(state: State) -> None:
    assert [one.cause for one in found(pod_with(state))] == ["no such program"]


def test_the_first_pod_to_end_speaks_for_its_gang() -> None:
    late, early = pod_with(ended(1, seconds=5), phase="Failed"), ended(7, seconds=9)
    [one] = found(late, pod_with(early, name="train-b", phase="Failed"))
    assert one.sentence == "train-b ended on node-a with exit code 7 (Error). 1 more pod is in the same trouble."
    assert "understudy logs train -i train-b" in one.help


def test_what_happened_first_is_told_first_and_the_end_of_the_job_last() -> None:
    killed, failed = pod_with(ended(143, seconds=5), phase="Failed"), ended(1, seconds=9)
    causes = found(killed, pod_with(failed, name="train-b", phase="Failed"), failed="BackoffLimitExceeded")
    assert [one.cause for one in causes] == ["program failed", "terminated", "retries used up"]


def test_a_refusal_after_which_pods_were_made_is_no_trouble() -> None:
    assert found(pod("train-a", age=5), events=(told("Job/train", "FailedCreate", NO_CLASS, age=30),)) == []


def test_the_last_of_many_events_alike_says_nothing_new() -> None:
    more = told("Job/train", "FailedCreate", "(combined from similar events)")
    events = (told("Job/train", "FailedCreate", NO_CLASS), more)
    assert [one.cause for one in found(events=events)] == ["missing PriorityClass"]


def test_a_job_that_runs_or_succeeded_has_no_causes() -> None:
    assert found(pod("train-a"), pod("train-b")) == []
    assert find_causes(summary(job("Job", status=conditions(Complete="True")), pod("train-a", "Succeeded")), []) == []


def test_get_and_list_give_the_reason_that_only_events_know() -> None:
    silent = summary(job("Job"))
    assert is_unexplained(silent)
    explained = with_event_reason(silent, [told("Job/train", "FailedCreate", NO_CLASS)])
    reason = "the cluster has no PriorityClass urgent"
    assert f"REASON: {reason}" in job_lines(explained, NOW)
    assert wide_list_lines([explained], {}, NOW)[1].endswith(reason)
    assert with_event_reason(silent, []) == silent


def test_a_reason_of_its_own_goes_before_those_of_events() -> None:
    waits = summary(job("Job"), pod("train-a", "Pending", node="", waits="needs 1 pod with 8 nvidia.com/gpu"))
    assert not is_unexplained(waits)
    assert with_event_reason(waits, [told("Job/train", "FailedCreate", QUOTA)]) == waits
    assert not [line for line in job_lines(waits, NOW) if line.startswith("REASON")]
