"""Jobs by the clock: started once for each time, one at a time or several, and tidied up."""

from typing import Any

from tests.kinds.children.world import BEGIN, World, moment
from tests.objects.documents import metadata, pod_spec


class Cron(World):
    """Every minute."""

    def __init__(self, **spec: Any) -> None:
        job = {"metadata": {"labels": {"team": "a"}}, "spec": {"template": {"spec": pod_spec()}}}
        given = {"schedule": "* * * * *", "jobTemplate": job, **spec}
        meta = metadata("tick", creationTimestamp=moment(BEGIN))
        super().__init__({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": given})

    def wait(self, seconds: float = 60) -> None:
        self.after(seconds)
        self.look()

    def finish(self, name: str, condition: str = "Complete") -> None:
        times = {"completionTime": moment(self.now)} if condition == "Complete" else {}
        self.jobs[name]["status"] = {"conditions": [{"type": condition, "status": "True"}], **times}

    def unfinished(self) -> list[str]:
        return [name for name, job in self.jobs.items() if not job.get("status")]


def test_a_job_starts_at_its_time_and_not_twice() -> None:
    world = Cron()
    world.look()
    assert world.jobs == {}
    assert world.again_at == BEGIN + 60
    world.wait()
    world.wait(5)
    [(name, job)] = world.jobs.items()
    assert name == f"tick-{int(BEGIN + 60) // 60}"
    assert job["metadata"]["labels"] == {"team": "a"}
    assert job["metadata"]["ownerReferences"][0]["name"] == "tick"
    assert world.status["lastScheduleTime"] == moment(BEGIN + 60)
    assert [active["name"] for active in world.status["active"]] == [name]


def test_of_many_missed_times_only_the_last_is_made_up_for() -> None:
    world = Cron()
    world.wait(3600 + 5)
    assert len(world.jobs) == 1
    assert world.status["lastScheduleTime"] == moment(BEGIN + 3600)


def test_a_time_missed_by_more_than_the_deadline_is_let_go() -> None:
    world = Cron(schedule="0 * * * *", startingDeadlineSeconds=10)
    world.wait(3600 + 30)
    assert world.jobs == {}
    world.wait(3600 - 25)
    assert len(world.jobs) == 1


def test_jobs_may_run_side_by_side() -> None:
    world = Cron()
    world.wait()
    world.wait()
    assert len(world.unfinished()) == 2


def test_with_forbid_the_next_job_waits_for_the_one_before() -> None:
    world = Cron(concurrencyPolicy="Forbid")
    world.wait()
    [first] = world.jobs
    world.wait()
    assert world.unfinished() == [first]
    assert "JobAlreadyActive" in world.told()
    world.finish(first)
    world.wait(5)
    assert len(world.unfinished()) == 1


def test_with_replace_the_job_before_is_deleted() -> None:
    world = Cron(concurrencyPolicy="Replace")
    world.wait()
    [first] = world.jobs
    world.wait()
    assert len(world.jobs) == 1
    assert first not in world.jobs


def test_a_suspended_schedule_starts_nothing_and_makes_up_for_it_later() -> None:
    world = Cron(suspend=True)
    world.wait(600)
    assert world.jobs == {}
    assert world.again_at is None
    world.parent["spec"]["suspend"] = False
    world.look()
    assert len(world.jobs) == 1


def test_only_so_many_ended_jobs_are_kept() -> None:
    world = Cron(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1)
    for condition in ("Complete", "Failed", "Complete", "Failed", "Complete"):
        world.wait()
        world.finish(world.unfinished()[0], condition)
    world.look()
    ends = [job["status"]["conditions"][0]["type"] for job in world.jobs.values()]
    assert ends == ["Complete", "Failed", "Complete"]
    assert world.status["active"] == []
    assert world.status["lastSuccessfulTime"] == moment(world.now)
    assert world.told().count("SawCompletedJob") == 5


def test_a_schedule_that_cannot_be_read_here_is_told() -> None:
    world = Cron(timeZone="Mars/Base")
    world.wait()
    assert set(world.told()) == {"UnparseableSchedule"}
    assert world.jobs == {}
