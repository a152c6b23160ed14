"""What Kueue says about a job that it keeps suspended."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.cli.queries.documents import job, spec_of, summary
from understudy.cli.queries.waiting import kueue_reasons
from understudy.ports import Refused

NO_QUOTA = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu"


class Server:
    """One that serves Workloads in this version, or none."""

    def __init__(self, version: str, *workloads: dict[str, Any]) -> None:
        self.version = version
        self.workloads = workloads
        self.asked: list[str] = []

    async def request(self, _method: str, path: str) -> bytes:
        self.asked.append(path)
        if f"/{self.version}/" not in path:
            raise Refused(404, "NotFound", "no such kind")
        return msgspec.json.encode({"items": self.workloads})


def waiting(*conditions: tuple[str, str, str], **spec: Any) -> dict[str, Any]:
    told = [{"type": name, "status": status, "message": message} for name, status, message in conditions]
    return {"spec": spec, "status": {"conditions": told}}


def said(server: Any, suspended: bool = True, queue: str = "team") -> list[str]:
    found = job("Job", spec={**spec_of("Job"), "suspend": suspended})
    found.document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return asyncio.run(kueue_reasons(server, summary(found)))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_what_it_waits_for_is_passed_on(version: str) -> None:
    server = Server(version, waiting(("QuotaReserved", "False", NO_QUOTA)))
    assert said(server) == [f"Kueue says: {NO_QUOTA}."]
    assert "labelSelector=kueue.x-k8s.io%2Fjob-uid%3D" in server.asked[-1]


def test_why_its_turn_was_taken_away_is_told_first() -> None:
    conditions = ("QuotaReserved", "False", NO_QUOTA), ("Evicted", "True", "Preempted by another")
    assert said(Server("v1beta2", waiting(*conditions))) == [
        "Kueue says: Preempted by another.",
        f"Kueue says: {NO_QUOTA}.",
    ]


def test_without_kueue_that_is_said() -> None:
    assert said(Server("none")) == ["There is no Kueue in this cluster, so the job never starts."]
    assert said(Server("v1beta2")) == ["Kueue has no Workload for it yet; whether Kueue runs, its own logs tell."]
    stopped = said(Server("v1beta2", waiting(active=False)))
    assert stopped == ["A user has stopped it there: spec.active of its Workload is false."]


def test_without_permission_or_without_a_queue_nothing_is_said() -> None:
    class Closed:
        async def request(self, _method: str, _path: str) -> bytes:
            raise Refused(403, "Forbidden", "not yours")

    assert said(Closed()) == []
    server = Server("v1beta2", waiting(("QuotaReserved", "False", NO_QUOTA)))
    assert said(server, suspended=False) == []
    assert said(server, queue="") == []
    assert server.asked == []
