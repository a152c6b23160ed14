"""What jobs of every kind ask for, read from their objects."""

import pytest

from tests.cli.queries.documents import GPU, RESOURCES, Document, spec_of, template
from understudy.kinds.registry import KINDS
from understudy.kinds.roles import accelerators, total_requests

LEADERS = {
    "PyTorchJob": "master",
    "XGBoostJob": "master",
    "PaddleJob": "master",
    "TFJob": "chief",
    "MPIJob": "launcher",
}


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_every_kind_says_how_many_accelerators_it_wants(kind: str) -> None:
    roles = KINDS[kind].roles_in(spec_of(kind, gpus=4, workers=3))
    leader = LEADERS.get(kind)
    assert (roles[0].name in LEADERS.values()) == (leader is not None)
    assert accelerators(total_requests(roles)) == (16 if leader in ("master", "chief") else 12)


@pytest.mark.parametrize("kind", sorted(set(RESOURCES) - {"TrainJob"}))
def test_every_kind_has_its_priority_in_its_templates(kind: str) -> None:
    assert {role.priority for role in KINDS[kind].roles_in(spec_of(kind, priority="medium"))} == {"medium"}


@pytest.mark.parametrize(
    ("spec", "workers", "gpus"),
    [
        ({"replicas": 3, "template": template(4)}, 3, 12),
        ({"gpus": 8, "gpusPerNode": 4, "template": template()}, 2, 8),
        ({"gpus": 2, "gpusPerNode": 4, "template": template()}, 1, 2),
        ({"processingUnits": 4, "processingUnitsPerNode": 2, "template": template()}, 2, 4),
        ({"processingUnits": 4, "processingResourceType": "amd.com/gpu", "template": template()}, 4, 4),
        ({"processingUnits": 4, "processingResourceType": "cpu", "template": template()}, 4, 0),
    ],
)
def test_the_first_mpi_job_counts_in_workers_or_in_units(spec: Document, workers: int, gpus: int) -> None:
    launcher, worker = KINDS["MPIJob"].roles_in(spec)
    assert (launcher.name, launcher.count, accelerators(launcher.requests)) == ("launcher", 1, 0)
    assert (worker.count, accelerators(total_requests([launcher, worker]))) == (workers, gpus)


def test_every_maker_s_accelerators_count_and_nothing_else_does() -> None:
    amounts = {GPU: 1, "google.com/tpu": 4, "amd.com/gpu": 2, "cpu": 4000, "memory": 1, "rdma/hca": 1}
    assert accelerators(amounts) == 7


def test_jobs_of_a_jobset_multiply() -> None:
    job = {"spec": {"parallelism": 2, "completions": 2, "template": template(4)}}
    spec = {"replicatedJobs": [{"name": "a", "replicas": 3, "template": job}, {"name": "b", "template": job}]}
    assert [(role.name, role.count) for role in KINDS["JobSet"].roles_in(spec)] == [("a", 6), ("b", 2)]


def test_an_invalid_template_asks_for_nothing() -> None:
    broken = {"spec": {"containers": [{"resources": {"limits": {GPU: "many"}}}], "priorityClassName": "high"}}
    [role] = KINDS["Job"].roles_in({"template": broken})
    assert (role.priority, role.requests) == ("high", {})
    [worse] = KINDS["Job"].roles_in({"template": {"spec": {"containers": 7}}})
    assert worse.requests == {}
