"""A job and its pods as one value."""

from tests.cli.jobs.documents import NOW, ago, conditions, job, pod, spec_of, summary
from understudy.cli.jobs.summaries import by_job, gang_key

JOBSET = "jobset.sigs.k8s.io/jobset-name"
TRAINING = "training.kubeflow.org/job-name"
OPERATOR = "training.kubeflow.org/operator-name"


def test_pods_go_to_the_job_whose_labels_they_carry() -> None:
    pods = [
        pod("a", labels={"job-name": "train"}),
        pod("b", labels={"job-name": "train-workers-0", JOBSET: "train"}),
        pod("c", labels={TRAINING: "train", OPERATOR: "pytorchjob-controller"}),
        pod("d", labels={TRAINING: "train", OPERATOR: "tfjob-controller"}),
        pod("e", labels={"mpi_job_name": "train", "mpi_role_type": "worker"}),
        pod("f"),
    ]
    kinds = ("Job", "JobSet", "PyTorchJob", "TFJob", "MPIJob")
    assert [gang_key(one) for one in pods[:5]] == [f"{kind}/default/train" for kind in kinds]
    assert set(by_job(pods)) == {f"{kind}/default/train" for kind in kinds} | {"Pod/default/f"}


def test_the_pods_of_a_train_job_are_those_of_its_jobset() -> None:
    assert job("TrainJob").gang == "JobSet/default/train"


def test_training_counts_from_its_start_to_its_end() -> None:
    running = summary(job("Job", status={"startTime": ago(50)}, age=60), pod("a"))
    assert (running.age(NOW), running.duration(NOW)) == (60, 50)
    ended = {"startTime": ago(50), "completionTime": ago(20), **conditions(Complete="True")}
    assert summary(job("Job", status=ended)).duration(NOW) == 30


def test_a_job_that_never_began_has_not_trained_though_its_controller_has_seen_it() -> None:
    found = summary(job("Job", status={"startTime": ago(50)}), pod("a", "Pending", node=""))
    assert (found.status, found.duration(NOW)) == ("PENDING", 0)


def test_a_kind_that_does_not_say_when_goes_by_its_pods_and_its_last_condition() -> None:
    status = conditions(Completed="True")
    status["conditions"][0]["lastTransitionTime"] = ago(10)
    assert summary(job("JobSet", status=status), pod("a", "Succeeded", age=40)).duration(NOW) == 30
    assert summary(job("JobSet", status=conditions(Failed="True")), pod("a", "Failed", age=40)).duration(NOW) == 35


def test_the_priority_is_the_template_s_else_what_the_pods_were_given() -> None:
    named = job("Job", spec=spec_of("Job", priority="high"))
    assert summary(named, pod("a", priority="default-class")).priority == "high"
    assert summary(job("Job"), pod("a", priority="default-class")).priority == "default-class"
    assert summary(job("Job")).priority == "N/A"


def test_accelerators_are_requested_before_there_are_pods_and_allocated_when_they_sit() -> None:
    found = job("JobSet", spec=spec_of("JobSet", gpus=4, workers=2))
    empty = summary(found)
    assert (empty.gpus_requested, empty.gpus_allocated) == (8, 0)
    seated = summary(found, pod("a", gpus=4), pod("b", "Pending", node="", gpus=4))
    assert (seated.gpus_requested, seated.gpus_allocated) == (8, 4)
    ended = summary(found, pod("a", "Succeeded", gpus=4))
    assert ended.gpus_allocated == 0


def test_what_its_runtime_adds_to_a_train_job_its_pods_tell() -> None:
    found = summary(job("TrainJob"), pod("a", gpus=4), pod("b", gpus=4))
    assert found.gpus_requested == 8


def test_an_end_has_its_reason_and_a_wait_its_words() -> None:
    assert summary(job("Job", status=conditions(Failed="True"))).reason == "JobFailed"
    waiting = summary(job("Job"), pod("a"), pod("b", "Pending", node="", waits="needs 8 GPUs"))
    assert waiting.reason == "needs 8 GPUs"


def test_a_job_goes_by_the_name_kubectl_knows() -> None:
    assert summary(job("MPIJob", "medium")).full_name == "mpijob.kubeflow.org/medium"


def test_what_others_wrote_badly_does_not_hide_a_job() -> None:
    found = summary(job("Job", status={"conditions": [{"type": 7}], "startTime": "yesterday"}), pod("a"))
    assert (found.status, found.conditions, found.started) == ("RUNNING", (), NOW - 60)
