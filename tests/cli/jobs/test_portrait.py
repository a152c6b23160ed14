"""`understudy get`, to the letter."""

from tests.cli.jobs.documents import NOW, ago, conditions, event, job, pod, spec_of, summary
from understudy.cli.jobs.happenings import events_block
from understudy.cli.jobs.portrait import accelerator_block, portrait
from understudy.objects.resources import MPI_JOBS_V1ALPHA1

MPI = {"replicas": 1, "template": spec_of("Job", gpus=1, priority="medium")["template"]}
LAUNCHER = {"mpi_job_name": "medium", "mpi_role_type": "launcher"}
WORKER = {"mpi_job_name": "medium", "mpi_role_type": "worker"}


def test_an_mpi_job_that_runs() -> None:
    found = job("MPIJob", "medium", spec=MPI, status={"launcherStatus": "Active"}, age=58, resource=MPI_JOBS_V1ALPHA1)
    worker = pod("medium-worker-0", node="192.168.0.23", address="192.168.0.23", age=58, gpus=1, labels=WORKER)
    launcher = pod(
        "medium-launcher-sz5xj",
        node="192.168.0.23",
        address="192.168.0.23",
        age=58,
        generate_name="medium-launcher-",
        labels=LAUNCHER,
    )
    assert portrait(summary(found, worker, launcher), NOW) == [
        "STATUS: RUNNING",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 58s",
        "",
        "NAME    STATUS   TRAINER  AGE  INSTANCE               NODE",
        "medium  RUNNING  MPIJOB   58s  medium-launcher-sz5xj  192.168.0.23",
        "medium  RUNNING  MPIJOB   58s  medium-worker-0        192.168.0.23",
    ]


def test_an_mpi_job_that_was_preempted_and_failed() -> None:
    """Its training ended long before now; its age goes on."""
    status = {"launcherStatus": "Failed", "startTime": ago(1200), "completionTime": ago(1200 - 720)}
    found = job("MPIJob", "medium", spec=MPI, status=status, age=1200, resource=MPI_JOBS_V1ALPHA1)
    launcher = pod("medium-launcher-sz5xj", "Failed", "192.168.0.23", "192.168.0.23", age=1200, labels=LAUNCHER)
    assert portrait(summary(found, launcher), NOW) == [
        "STATUS: FAILED",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 12m",
        "",
        "NAME    STATUS  TRAINER  AGE  INSTANCE               NODE",
        "medium  FAILED  MPIJOB   20m  medium-launcher-sz5xj  192.168.0.23",
    ]


def test_a_pytorch_job_on_nodes_that_are_named_after_their_addresses() -> None:
    spec = spec_of("PyTorchJob", gpus=4, priority="medium", workers=2)
    name = "pytorch-priority-medium"
    status = {**conditions(Created="True", Running="True"), "startTime": ago(200)}
    pods = []
    for role, index, ending in (("worker", 1, 209), ("master", 0, 208), ("worker", 0, 210)):
        labels = {
            "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/job-name": name,
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": str(index),
        }
        place, address = f"cn-huhehaote.172.16.0.{ending}", f"172.16.0.{ending}"
        pods.append(pod(f"{name}-{role}-{index}", "Running", place, address, age=200, gpus=4, labels=labels))
    shown = portrait(summary(job("PyTorchJob", name, spec=spec, status=status, age=200), *pods), NOW)
    assert shown == [
        "STATUS: RUNNING",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 3m",
        "",
        "NAME                     STATUS   TRAINER     AGE  INSTANCE                          NODE",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-master-0  172.16.0.208",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-worker-0  172.16.0.210",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-worker-1  172.16.0.209",
    ]


def test_what_nobody_knows_is_not_available() -> None:
    shown = portrait(summary(job("Job"), pod("train-abcde", "Pending", node="")), NOW)
    assert shown[2:4] == ["PRIORITY: N/A", "TRAINING DURATION: 0s"]
    assert shown[-1] == "train  PENDING  JOB      1m   train-abcde  N/A"
    for wide in (False, True):
        assert portrait(summary(job("Job")), NOW, wide=wide)[-1] == "train  PENDING  JOB      1m   N/A       N/A"


def test_the_wide_form_tells_why_and_how_it_ended() -> None:
    found = summary(job("Job"), pod("train-abcde", "Pending", node="", waits="needs 1 GPU", gpus=2))
    shown = portrait(found, NOW, wide=True)
    assert shown[4] == "REASON: needs 1 GPU"
    ended = summary(job("Job", status=conditions(Failed="True")), pod("train-abcde", "Failed", exit_code=137, gpus=2))
    shown = portrait(ended, NOW, wide=True)
    assert " ".join(shown[-1].split()) == "train FAILED JOB 1m train-abcde node-a N/A Error 55s 0 137 N/A 2 0"


def test_the_gpus_of_every_instance() -> None:
    found = summary(job("Job", spec=spec_of("Job", gpus=2, workers=2)), pod("a", gpus=2), pod("b", "Failed", gpus=2))
    assert accelerator_block(found) == [
        "",
        "GPUs:",
        "INSTANCE  NODE    GPU(Requested)  GPU(Allocated)  RESOURCES",
        "a         node-a  2               2               2 nvidia.com/gpu",
        "b         node-a  2               0               2 nvidia.com/gpu",
        "",
        "Allocated/Requested GPUs of Job: 2/4",
    ]


def test_events_stand_together_by_what_they_are_about() -> None:
    events = [
        event("Pod/a", "Scheduled", "Successfully assigned default/a to n", age=9),
        event("Job/train", "SuccessfulCreate", "Created pod: a", age=9),
        event("Pod/a", "Started", "Started container main", age=8),
    ]
    assert events_block(events, NOW) == [
        "",
        "Events: ",
        "SOURCE     TYPE    AGE  MESSAGE",
        "--------   ----    ---  -------",
        "pod/a      Normal  9s   [Scheduled] Successfully assigned default/a to n",
        "pod/a      Normal  8s   [Started] Started container main",
        "",
        "job/train  Normal  9s   [SuccessfulCreate] Created pod: a",
        "",
    ]
    assert events_block([], NOW) == ["", "Events: ", "No events for this job"]
