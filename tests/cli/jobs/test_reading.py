"""One look at a cluster takes few requests and little code: `get` has to be there at once."""

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from tests.cli.jobs.documents import RESOURCES, job
from understudy.cli.complaint import BadInput
from understudy.cli.finding import Found
from understudy.cli.jobs.reading import all_jobs, job_named
from understudy.cli.target import Session
from understudy.ports import Ref, Refused

HEAVY = ("cryptography", "wsproto", "uvicorn", "understudy.decide", "understudy.control", "understudy.embedded.server")
LOADED = """
import sys
from understudy.main import parser
parser().parse_args(["get", "train"])
import understudy.client
from understudy.cli.jobs import figures, happenings, portrait, reading, tables
print(*sys.modules)
"""


class Api:
    """Serves these jobs and no pods; kinds without a job it does not know."""

    def __init__(self, *jobs: Found) -> None:
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
    return asyncio.run(job_named(Session(client, "default"), name, wanted)).full_name


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
    found = asyncio.run(all_jobs(Session(client, "default"), None))
    assert [one.name for one in found] == ["new", "mid", "old"]
    assert asyncio.run(all_jobs(Session(client, "default"), "xgboost")) == []


def test_reading_loads_neither_servers_nor_planners() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "understudy.cli.jobs.reading" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []
