"""Jobs with their pods, and the summary of each."""

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from tests.cli.queries.documents import NOW, RESOURCES, ago, conditions, job, pod, spec_of, summary
from understudy.cli.errors import BadInput
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.jobs import gang_key, pods_by_job, read_job, read_jobs
from understudy.cli.session import Session
from understudy.ports import Ref, Refused

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
    assert set(pods_by_job(pods)) == {f"{kind}/default/train" for kind in kinds} | {"Pod/default/f"}


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


HEAVY = ("cryptography", "wsproto", "uvicorn", "understudy.decide", "understudy.control", "understudy.embedded.server")
LOADED = """
import sys
from understudy.cli.verbs.parser import root_parser
root_parser().parse_args(["get", "train"])
print(*sys.modules)
"""


class Api:
    """Serves these jobs and no pods; kinds without a job it does not know."""

    def __init__(self, *jobs: JobObject) -> None:
        self.jobs = jobs
        self.asked: list[str] = []

    async def get(self, ref: Ref) -> bytes:
        self.asked.append(ref.path())
        served = [one for one in self.jobs if one.resource == ref.resource]
        if ref.name:
            served = [one for one in served if one.name == ref.name]
        if not served:
            raise Refused(404, "NotFound", "not here")
        return msgspec.json.encode(served[0].document if ref.name else {"items": [one.document for one in served]})

    async def request(self, _method: str, path: str) -> bytes:
        self.asked.append(path.partition("?")[0])
        return b'{"metadata":{},"items":[]}'


def looked(api: Api, name: str, wanted: str | None = None) -> str:
    client: Any = api
    return asyncio.run(read_job(Session(client, "default"), name, wanted)).full_name


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_a_job_of_any_kind_is_found_by_its_name(kind: str) -> None:
    api = Api(job(kind))
    assert looked(api, "train").endswith("/train")
    assert len(api.asked) <= len(RESOURCES) + 2 + 2  # MPIJobs have three versions, and pods two labels
    assert looked(api, f"{kind.lower()}/train") == looked(api, "train", kind.lower())


def test_a_name_that_kinds_share_asks_for_the_kind() -> None:
    api = Api(job("MPIJob"), job("PyTorchJob"))
    with pytest.raises(BadInput, match=r"train may be .*pytorchjob.*mpijob.*--type"):
        looked(api, "train")
    assert looked(api, "train", "mpi") == "mpijob.kubeflow.org/train"


def test_kinds_that_are_not_served_are_passed_over_and_the_newest_job_comes_first() -> None:
    client: Any = Api(job("Job", "old", age=90), job("TFJob", "new", age=10), job("Job", "mid", age=50))
    found = asyncio.run(read_jobs(Session(client, "default"), None))
    assert [one.name for one in found] == ["new", "mid", "old"]
    assert asyncio.run(read_jobs(Session(client, "default"), "xgboost")) == []


def test_reading_loads_neither_servers_nor_planners() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "understudy.cli.queries.jobs" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []
