"""When jobs of each kind count as ended."""

from typing import Any

import pytest

from understudy.cli.ending import ended_at

CREATED, ENDED = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
A_DAY = 86_400


def job(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "creationTimestamp": CREATED}, "status": status}


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": ENDED}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="nothing said yet"),
        pytest.param({"conditions": [condition("Running")]}, id="runs"),
        pytest.param({"conditions": [condition("Failed", "False")]}, id="failed no longer"),
        pytest.param({"conditions": [condition("Suspended")]}, id="suspended"),
        pytest.param({"launcherStatus": "Active"}, id="the launcher of the first MPIJob runs"),
    ],
)
def test_jobs_that_go_on_have_no_end(status: dict[str, Any]) -> None:
    assert ended_at(job(**status)) is None


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ({"conditions": [condition("Complete")]}, A_DAY),  # Job, TrainJob
        ({"conditions": [condition("Completed")]}, A_DAY),  # JobSet
        ({"conditions": [condition("Created"), condition("Succeeded")]}, A_DAY),  # the training operator's
        ({"conditions": [condition("Failed")], "completionTime": "2026-01-03T00:00:00Z"}, 2 * A_DAY),
        ({"launcherStatus": "Succeeded"}, 0),  # the first MPIJob, which writes down no time
    ],
)
def test_jobs_that_ended_tell_when(status: dict[str, Any], after: float) -> None:
    created = ended_at(job(launcherStatus="Failed"))
    assert created is not None
    assert ended_at(job(**status)) == created + after
