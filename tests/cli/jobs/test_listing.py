"""`understudy list` and `understudy top job`, to the letter."""

from tests.cli.jobs.documents import NOW, conditions, job, pod, spec_of, summary
from understudy.cli.jobs.holdings import of_instances, of_jobs
from understudy.cli.jobs.listing import in_short, in_width, shortened

RUNS = summary(
    job("Job", "medium", spec=spec_of("Job", gpus=1, priority="medium"), status={}, age=720),
    pod("medium-abcde", node="192.168.0.23", address="192.168.0.23", gpus=1, age=700),
)
WAITS = summary(
    job("JobSet", "big", spec=spec_of("JobSet", gpus=4, workers=2), age=58),
    pod("big-workers-0-0-abcde", "Pending", node="", gpus=4, waits="needs 2 x 4 nvidia.com/gpu"),
)
DONE = summary(job("PyTorchJob", "old", status=conditions(Succeeded="True"), age=3 * 86400 + 5))


def test_every_job_has_a_line() -> None:
    assert in_short([RUNS, WAITS, DONE], NOW) == [
        "NAME    STATUS     TRAINER     AGE  NODE",
        "medium  RUNNING    JOB         12m  192.168.0.23",
        "big     PENDING    JOBSET      58s  N/A",
        "old     SUCCEEDED  PYTORCHJOB  3d   N/A",
    ]
    assert in_short([RUNS], NOW, everywhere=True)[1] == "default    medium  RUNNING  JOB      12m  192.168.0.23"
    assert in_short([], NOW) == ["NAME  STATUS  TRAINER  AGE  NODE"]


def test_the_wide_form_adds_gpus_preemptions_and_reasons() -> None:
    shown = in_width([RUNS, WAITS], {"uid-medium": 2}, NOW)
    assert shown[0].split()[:6] == ["NAMESPACE", "NAME", "STATUS", "TRAINER", "AGE", "NODE"]
    assert shown[0].split()[9:] == ["GPU(Requested)", "GPU(Allocated)", "PREEMPTIONS", "REASON"]
    assert " ".join(shown[1].split()) == "default medium RUNNING JOB 12m 192.168.0.23 medium 11m 1/1 1 1 2"
    assert " ".join(shown[2].split()) == (
        "default big PENDING JOBSET 58s N/A N/A 0s 0/1 8 0 0 needs 2 x 4 nvidia.com/gpu"
    )


def test_a_long_reason_is_cut() -> None:
    assert shortened("a " * 100) == "a " * 39 + "a…"


def test_what_jobs_asked_for_and_have() -> None:
    assert of_jobs([RUNS, WAITS, DONE], NOW) == [
        "NAME    GPU(Requests)  GPU(Allocated)  STATUS     TRAINER     AGE  NODE",
        "medium  1              1               RUNNING    JOB         12m  192.168.0.23",
        "big     8              0               PENDING    JOBSET      58s  N/A",
        "old     0              0               SUCCEEDED  PYTORCHJOB  3d   N/A",
        "",
        "Total Allocated GPUs of Training Job:",
        "1",
        "",
        "Total Requested GPUs of Training Job:",
        "9",
    ]


def test_the_instances_of_one_job_with_cpu_and_memory() -> None:
    assert of_instances(RUNS, NOW)[:2] == [
        "INSTANCE      GPU(Requests)  GPU(Allocated)  CPU  MEMORY  STATUS   AGE  NODE",
        "medium-abcde  1              1               0    0       RUNNING  11m  192.168.0.23",
    ]
