"""The control part of a cluster as a whole: it schedules, looks after jobs, outlives its failures, ends in peace."""

import asyncio
import os
import signal
from pathlib import Path
from types import TracebackType

import msgspec
import pytest

from tests.embedded.clusters.settings import settings
from tests.embedded.controllers.fake_cluster import FakeClock, FakeCluster
from tests.objects.documents import job, jobset, node, replicated_job
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.controllers import manager
from understudy.embedded.controllers.manager import ControlContext, control, tasks_of
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.objects.resources import DEFINITIONS, JOB_SETS, JOBS, NODES, PODS

FOLDER = ClusterFolder(Path("/nowhere"))
READY = [{"type": "Ready", "status": "True"}]


def test_jobs_and_jobsets_get_their_pods_and_their_seats() -> None:
    async def scenario() -> None:
        api = FakeCluster(FakeClock())
        api.put(NODES, node("a", conditions=READY))
        async with SharedCluster(api, api.clock) as cluster:
            working = asyncio.create_task(control(ControlContext(cluster, api.clock, FOLDER, api.replace)))
            await api.clock.advance(1)
            assert JOB_SETS.key in api.names(DEFINITIONS)
            api.put(JOBS, job("alone", parallelism=2, completions=2))
            api.put(JOB_SETS, jobset("set", replicated_job("w", replicas=2, pods=1)))
            await api.clock.advance(3)
            seats = {pod["metadata"]["name"].rpartition("-")[0]: pod["spec"]["nodeName"] for pod in api.all(PODS)}
            assert seats == {"alone": "a", "set-w-0-0": "a", "set-w-1-0": "a"}
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(scenario())


def test_a_part_that_fails_does_not_take_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(manager, "expire_events", broken)

    async def scenario() -> None:
        api = FakeCluster(FakeClock())
        async with SharedCluster(api, api.clock) as cluster:
            working = asyncio.create_task(control(ControlContext(cluster, api.clock, FOLDER, api.replace)))
            await api.clock.advance(5)
            api.put(JOBS, job("alone"))
            await api.clock.advance(1)
            assert len(api.names(PODS)) == 1
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(scenario())


def test_every_task_has_a_name_of_its_own() -> None:
    async def scenario() -> None:
        api = FakeCluster(FakeClock())
        async with SharedCluster(api, api.clock) as cluster:
            names = [name for name, _ in tasks_of(ControlContext(cluster, api.clock, FOLDER, api.replace))]
            assert len(names) == len(set(names))
            assert {"scheduling", "Job", "JobSet", "garbage collector"} <= set(names)

    asyncio.run(scenario())


class Connection(FakeCluster):
    """As the client gives it, but to a cluster in memory; it sends SIGTERM when it is first asked something."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.closed = False

    async def __aenter__(self) -> "Connection":
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True

    async def request(self, method: str, path: str, body: object = None) -> bytes:
        raise AssertionError(f"{method} {path} with {body}: nothing is to be replaced here")


def test_sigterm_ends_it_cleanly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connection = Connection()
    monkeypatch.setattr(manager, "connect", lambda _: connection)
    folder = ClusterFolder(tmp_path)
    folder.settings.write_bytes(msgspec.json.encode(settings()))
    manager.run(folder)
    assert connection.closed
    assert connection.watches(PODS) == 0
