"""Pods whose containers are down do not run, whatever their phase says."""

from typing import Any

import msgspec
import pytest

from tests.cli.queries.documents import NOW, ago, conditions, job, pod, summary
from understudy.cli.queries.objects import PodInfo
from understudy.cli.verbs.jobs.get import job_lines

ERROR = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": ago(5)}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}


def with_containers(*containers: dict[str, Any], phase: str = "Running") -> PodInfo:
    body = msgspec.to_builtins(pod("train-a", phase))
    statuses = [{"name": f"c{number}", **container} for number, container in enumerate(containers)]
    return msgspec.convert({**body, "status": {**body["status"], "containerStatuses": statuses}}, PodInfo)


LOOP = with_containers({"state": BACK_OFF, "lastState": ERROR, "restartCount": 4})


@pytest.mark.parametrize("kind", ["Job", "PyTorchJob"])
def test_a_crash_loop_does_not_run(kind: str) -> None:
    found = summary(job(kind, status=conditions(Running="True")), pod("train-b"), LOOP)
    assert found.status == "PENDING"
    assert found.reason == "CrashLoopBackOff: c0, 4 restarts, exit code 3"


def test_get_shows_restarts_back_off_and_the_last_exit_code() -> None:
    lines = job_lines(summary(job("Job"), LOOP), NOW)
    assert "REASON: CrashLoopBackOff: c0, 4 restarts, exit code 3" in lines
    assert lines[-1].split() == ["train", "CrashLoopBackOff", "JOB", "1m", "train-a", "node-a"]


def test_a_container_between_its_end_and_its_next_start_is_down() -> None:
    found = summary(job("Job"), with_containers({"state": {"running": {}}}, {"state": ERROR}))
    assert (found.status, found.reason) == ("PENDING", "Error: c1, exit code 3")


def test_a_sidecar_that_has_done_its_part_is_not_missed() -> None:
    done = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    assert summary(job("Job"), with_containers({"state": {"running": {}}}, done)).status == "RUNNING"


def test_a_container_that_runs_again_is_no_trouble_any_more() -> None:
    again = with_containers({"state": {"running": {}}, "lastState": ERROR, "restartCount": 1})
    found = summary(job("Job"), again)
    assert (found.status, found.reason, found.instances[0].restarts) == ("RUNNING", "", 1)


def test_what_a_container_waits_for_is_told_of_a_pod_that_has_not_started() -> None:
    waits = {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}}}
    found = summary(job("Job"), with_containers(waits, phase="Pending"))
    assert found.reason == 'CreateContainerConfigError: c0, secret "s" not found'
