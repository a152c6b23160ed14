"""One word for how a job of any kind is doing."""

import pytest

from tests.cli.queries.documents import RESOURCES, Document, conditions, job, pod, spec_of, summary
from understudy.cli.queries.objects import PodInfo
from understudy.objects.resources import MPI_JOBS_V1ALPHA1

SAY_RUNNING = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")
SUCCESS = {"Job": "Complete", "JobSet": "Completed", "TrainJob": "Complete"}
EVERY = sorted(RESOURCES)


@pytest.mark.parametrize("kind", EVERY)
def test_a_job_that_has_ended_says_how(kind: str) -> None:
    good = conditions(**{SUCCESS.get(kind, "Succeeded"): "True", "Running": "False"})
    assert summary(job(kind, status=good), pod("a")).status == "SUCCEEDED"
    assert summary(job(kind, status=conditions(Failed="True")), pod("a")).status == "FAILED"
    assert (
        summary(job(kind, status={"conditions": good["conditions"] + conditions(Failed="True")["conditions"]})).status
        == "SUCCEEDED"
    )


@pytest.mark.parametrize("kind", EVERY)
def test_a_job_runs_when_no_pod_waits_any_more(kind: str) -> None:
    status = conditions(Running="True") if kind in SAY_RUNNING else {}
    assert summary(job(kind, status=status), pod("a"), pod("b")).status == "RUNNING"
    assert summary(job(kind, status=status), pod("a"), pod("b", "Pending")).status == "PENDING"
    assert summary(job(kind, status=status)).status == "PENDING"


@pytest.mark.parametrize("kind", SAY_RUNNING)
def test_a_job_that_restarts_is_pending_though_some_of_its_pods_run(kind: str) -> None:
    status = conditions(Running="False", Restarting="True")
    assert summary(job(kind, status=status), pod("a")).status == "PENDING"


def test_a_pod_on_its_way_out_counts_neither_way() -> None:
    assert summary(job("Job"), pod("a"), pod("b", "Pending", leaving=True)).status == "RUNNING"
    assert summary(job("Job"), pod("a", leaving=True)).status == "PENDING"


@pytest.mark.parametrize("kind", EVERY)
def test_a_paused_job_says_who_paused_it(kind: str) -> None:
    spec = spec_of(kind)
    paused: Document = {"runPolicy": {"suspend": True}} if kind in SAY_RUNNING else {"suspend": True}
    assert summary(job(kind, spec=spec | paused)).status == "SUSPENDED"
    requeued = summary(job(kind, spec=spec | paused, requeued_at="2026-01-01T11:59:00Z"))
    assert (requeued.status, requeued.duration(0)) == ("QUEUING", 0)


@pytest.mark.parametrize(
    ("launcher", "pods", "status"),
    [
        ("", (pod("train-worker-0"),), "PENDING"),
        ("Active", (pod("train-launcher-x"), pod("train-worker-0")), "RUNNING"),
        ("Active", (pod("train-launcher-x", "Pending"), pod("train-worker-0")), "PENDING"),
        ("Succeeded", (), "SUCCEEDED"),
        ("Failed", (pod("train-launcher-x", "Failed"),), "FAILED"),
    ],
)
def test_the_first_mpi_job_goes_by_its_launcher(launcher: str, pods: tuple[PodInfo, ...], status: str) -> None:
    status_of_it = {"launcherStatus": launcher} if launcher else {}
    spec = {"replicas": 1, "template": {"spec": {"containers": []}}}
    assert summary(job("MPIJob", spec=spec, status=status_of_it, resource=MPI_JOBS_V1ALPHA1), *pods).status == status
