"""Which job a name means, of all kinds that a cluster serves."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest

from understudy.cli.errors import BadInput
from understudy.cli.queries.job_objects import JobObject, find_jobs, job_kinds, list_job_objects
from understudy.client import KubeClient
from understudy.kinds.registry import JOB_RESOURCES
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import JOB_SETS, JOBS, MPI_JOBS_V1ALPHA1, TRAIN_JOBS, Resource
from understudy.ports import Ref, Refused


class Served:
    """As much of a client as finding needs; kinds that are not named are not served."""

    def __init__(self, jobs: Mapping[Resource, tuple[str, ...]], makers: Mapping[str, tuple[str, str]] | None = None):
        self.asked: list[str] = []
        self._jobs = jobs
        self._makers = makers or {}

    async def get(self, ref: Ref) -> bytes:
        self.asked.append(ref.path())
        names = self._jobs.get(ref.resource)
        if names is None or (ref.name and ref.name not in names):
            raise Refused(404, "NotFound", "there is no such thing")
        if ref.name:
            return msgspec.json.encode(self._document(ref.resource, ref.name))
        return msgspec.json.encode({"items": [self._document(ref.resource, name) for name in names]})

    def _document(self, resource: Resource, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{resource.kind}-{name}"}
        if maker := self._makers.get(f"{resource.kind} {name}"):
            metadata["ownerReferences"] = [{"kind": maker[0], "name": maker[1], "controller": True}]
        return {"metadata": metadata}


def find(served: Served, *names: str, kind: str | None = None) -> list[str]:
    client = cast(KubeClient, served)
    return [job.title for job in asyncio.run(find_jobs(client, "default", names, job_kinds(kind)))]


def test_jobs_of_several_kinds_are_found_in_the_order_of_their_names() -> None:
    served = Served({JOBS: ("batch",), PYTORCH_JOBS: ("mnist",), MPI_JOBS_V1ALPHA1: ("old",)})
    titles = ["pytorchjob.kubeflow.org/mnist", "job.batch/batch", "mpijob.kubeflow.org/old"]
    assert find(served, "mnist", "batch", "old", "mnist") == titles


def test_a_name_that_two_kinds_share_wants_its_type() -> None:
    served = Served({JOBS: ("x",), PYTORCH_JOBS: ("x",)})
    with pytest.raises(
        BadInput, match=r"x may be job.batch/x, pytorchjob.kubeflow.org/x; say which with --type job or"
    ):
        find(served, "x")
    assert find(served, "x", kind="pytorch") == ["pytorchjob.kubeflow.org/x"]
    assert find(served, "pytorchjob/x", "job.batch/x") == ["pytorchjob.kubeflow.org/x", "job.batch/x"]


def test_with_a_type_only_that_kind_is_asked_for() -> None:
    served = Served({JOBS: ("x",)})
    find(served, "x", kind="job")
    assert served.asked == ["/apis/batch/v1/namespaces/default/jobs/x"]


def test_what_a_job_makes_of_itself_is_no_job() -> None:
    made = {"JobSet train": ("TrainJob", "train"), "Job train-node-0": ("JobSet", "train")}
    served = Served({TRAIN_JOBS: ("train",), JOB_SETS: ("train",), JOBS: ("train-node-0", "own")}, made)
    assert find(served, "train") == ["trainjob.trainer.kubeflow.org/train"]
    with pytest.raises(BadInput, match=r"job.batch/train-node-0 is a part of jobset train; name that one"):
        find(served, "train-node-0")
    jobs = asyncio.run(list_job_objects(cast(KubeClient, served), "", JOB_RESOURCES))
    assert [job.title for job in jobs] == ["job.batch/own", "trainjob.trainer.kubeflow.org/train"]


@pytest.mark.parametrize(
    ("served", "hint"),
    [
        (Served({JOBS: ("medium", "large")}), "did you mean medium\\?"),
        (Served({JOBS: ("alpha",)}), "there are: alpha"),
        (Served({}), "there is none"),
    ],
)
def test_an_unknown_name_brings_the_near_ones(served: Served, hint: str) -> None:
    with pytest.raises(BadInput, match=f"^no job medim in namespace default; {hint}$"):
        find(served, "medim")


def test_the_pods_of_a_trainjob_go_by_its_jobset() -> None:
    document = {"metadata": {"name": "x", "namespace": "ns"}}
    assert JobObject(TRAIN_JOBS, document).gang == "JobSet/ns/x"
    assert JobObject(PYTORCH_JOBS, document).gang == "PyTorchJob/ns/x"
