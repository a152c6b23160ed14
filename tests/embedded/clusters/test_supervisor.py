"""Parts that die are started again, and all of them go in order when the cluster is stopped."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.clusters.settings import settings
from tests.eventually import eventually_async
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters import component
from understudy.embedded.clusters.api_port import move_port_if_taken, save_settings
from understudy.embedded.clusters.component import Launcher, Tell
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, LockHolder, lock_holder
from understudy.embedded.clusters.settings import PORTS
from understudy.embedded.clusters.supervisor import Stop, stop_cluster, supervise

PATIENCE = 90.0


def command(part: str, folder: ClusterFolder) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("fake_component.py")), part, str(folder.path)]


class Cluster:
    def __init__(self, path: Path) -> None:
        self.folder = ClusterFolder(path)
        self.told: list[str] = []
        self.stop = Stop()

    def pid(self, part: str) -> int:
        found = self.holder(part)
        return found.pid if found else 0

    def holder(self, part: str) -> LockHolder | None:
        return lock_holder(self.folder.processes / part)

    def all_run(self) -> bool:
        return all(self.holder(part) for part in PARTS)

    def stopped(self) -> list[str]:
        return (self.folder.path / "stopped").read_text().split()


@contextlib.asynccontextmanager
async def supervised(path: Path, tell: Tell | None = None) -> AsyncIterator[Cluster]:
    cluster = Cluster(path)
    task = asyncio.create_task(supervise(Launcher(cluster.folder, tell or cluster.told.append, command), cluster.stop))
    try:
        yield cluster
    finally:
        cluster.stop.ask()
        await task
        assert not any(cluster.holder(part) for part in PARTS)


def test_all_parts_start_and_stop_in_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
        assert cluster.stopped() == [CONTROL, AGENT, SERVER]
        assert cluster.told == []

    asyncio.run(run())


def test_each_part_writes_a_log_of_its_own(tmp_path: Path) -> None:
    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
        log = cluster.folder.logs / "agent.log"
        assert log.read_text() == "agent says hello\n"
        assert log.stat().st_mode & 0o777 == 0o600

    asyncio.run(run())


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_killed_is_started_again_and_the_others_stay(tmp_path: Path, part: str) -> None:
    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
            before = {name: cluster.pid(name) for name in PARTS}
            os.kill(before[part], signal.SIGKILL)
            await eventually_async(lambda: cluster.pid(part) not in (0, before[part]))
            assert [name for name in PARTS if cluster.pid(name) == before[name]] == [n for n in PARTS if n != part]
            assert cluster.told == [f"{part} was killed by SIGKILL; starting it again"]

    asyncio.run(run())


def test_a_part_that_cannot_run_is_tried_less_and_less_often_and_its_last_words_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(component, "FIRST_PAUSE", 0.01)
    (tmp_path / "agent-is-broken").touch()

    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(lambda: len(cluster.told) >= 3)
            assert set(cluster.told) == {"agent ended with exit code 1; starting it again (it said: this will not do)"}
            (tmp_path / "agent-is-broken").unlink()
            await eventually_async(cluster.all_run)

    asyncio.run(run())


def test_a_part_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "PATIENCE", 2.0)
    (tmp_path / "control-is-stubborn").touch()

    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
        assert cluster.told == ["control does not end; killed"]
        assert cluster.stopped() == [AGENT, SERVER]

    asyncio.run(run())


def test_asked_twice_it_stops_at_once(tmp_path: Path) -> None:
    (tmp_path / "control-is-stubborn").touch()

    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
            cluster.stop.ask()
        assert not (tmp_path / "stopped").exists()

    asyncio.run(run())


def test_stopped_while_parts_are_starting_none_is_left_behind(tmp_path: Path) -> None:
    async def run() -> None:
        async with supervised(tmp_path):
            await asyncio.sleep(0)

    asyncio.run(run())


def test_parts_left_behind_by_a_supervisor_that_was_killed_are_replaced(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path)
        orphan = await asyncio.create_subprocess_exec(*command(SERVER, folder))
        await eventually_async(lambda: lock_holder(folder.processes / SERVER))
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
            assert await orphan.wait() == 0
            assert cluster.pid(SERVER) != orphan.pid

    asyncio.run(run())


def test_a_cluster_without_a_supervisor_is_stopped_part_by_part(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path)
        orphans = [await asyncio.create_subprocess_exec(*command(part, folder)) for part in PARTS]
        await eventually_async(lambda: all(lock_holder(folder.processes / part) for part in PARTS))
        await stop_cluster(folder)
        assert [await orphan.wait() for orphan in orphans] == [0, 0, 0]
        assert (tmp_path / "stopped").read_text().split() == [CONTROL, AGENT, SERVER]

    asyncio.run(run())


def _is_another(cluster: Cluster, part: str, before: int) -> bool:
    return cluster.pid(part) not in (0, before)


def test_what_cannot_be_told_ends_nothing(tmp_path: Path) -> None:
    def tell(_: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def run() -> None:
        async with supervised(tmp_path, tell) as cluster:
            for part in PARTS:
                await eventually_async(cluster.all_run)
                before = {name: cluster.pid(name) for name in PARTS}
                os.kill(before[part], signal.SIGKILL)
                await eventually_async(partial(_is_another, cluster, part, before[part]))
                assert all(cluster.pid(name) == before[name] for name in PARTS if name != part)

    asyncio.run(run())


def test_a_part_that_cannot_be_started_is_tried_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of processes, memory or descriptors, which other programs may give back."""
    monkeypatch.setattr(component, "FIRST_PAUSE", 0.01)
    started, refused = asyncio.create_subprocess_exec, 0

    async def start(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        nonlocal refused
        if AGENT in arguments and refused < 5:
            refused += 1
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return await started(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)

    async def run() -> None:
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
            assert (
                cluster.told
                == ["agent cannot be started: [Errno 11] Resource temporarily unavailable; starting it again"] * 5
            )

    asyncio.run(run())


def test_a_port_that_another_program_took_is_chosen_anew_and_all_parts_learn_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path / "home"))

    async def run() -> None:
        folder = ClusterFolder(tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            taken = listener.getsockname()[1]
            save_settings(folder, settings(port=taken))
            async with supervised(tmp_path) as cluster:
                await eventually_async(cluster.all_run)
                port = folder.read_settings().port
                assert port in PORTS
                assert str(port) in folder.kubeconfig.read_text()
                assert cluster.told == [f"port {taken} is taken by another program: the API moves to port {port}"]

    asyncio.run(run())


def test_parts_that_run_are_started_again_when_the_port_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path / "home"))

    async def run() -> None:
        folder = ClusterFolder(tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        save_settings(folder, settings(port=port))
        async with supervised(tmp_path) as cluster:
            await eventually_async(cluster.all_run)
            before = {name: cluster.pid(name) for name in PARTS}
            with socket.create_server(("127.0.0.1", port)):
                os.kill(before[SERVER], signal.SIGKILL)
                await eventually_async(lambda: all(cluster.pid(name) not in (0, before[name]) for name in PARTS))
            assert folder.read_settings().port != port

    asyncio.run(run())


def test_a_port_that_the_user_asked_for_is_never_changed(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked = settings(port=listener.getsockname()[1], fixed_port=True)
        save_settings(folder, asked)
        assert move_port_if_taken(folder) == ""
    assert folder.read_settings() == asked
