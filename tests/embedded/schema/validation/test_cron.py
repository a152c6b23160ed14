"""CronJobs: their defaults, and schedules that are refused."""

from typing import Any

import pytest

from tests.embedded.schema.forms import created, job, refusal_of


def cron_job(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "tick"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def test_a_cron_job_gets_its_defaults() -> None:
    spec = created("CronJob", cron_job())["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 6


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"schedule": "every day"}, "expected exactly 5 fields"),
        ({"schedule": "CRON_TZ=UTC * * * * *"}, "use timeZone field instead"),
        ({"timeZone": "Mars/Base"}, "unknown time zone"),
        ({"timeZone": ""}, "must be nil or non-empty"),
        (
            {"jobTemplate": {"spec": job({"restartPolicy": "Always"})["spec"]}},
            "spec.jobTemplate.spec.template.spec.rest",
        ),
    ],
)
def test_what_cannot_work_is_refused(spec: dict[str, Any], words: str) -> None:
    assert words in refusal_of("CronJob", cron_job(**spec)).causes[0]


def test_a_name_leaves_room_for_those_of_its_jobs() -> None:
    given = cron_job()
    given["metadata"]["name"] = "x" * 53
    assert "no more than 52 characters" in refusal_of("CronJob", given).causes[0]
