"""`understudy up` of a cluster that has lost something: what runs goes on, and what lacks is told."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.eventually import eventually
from tests.faults.live_cluster import CLUSTER, FOR_EVER, Document, LiveCluster, living
from tests.faults.server_process import (
    PATIENCE,
    ClusterProcesses,
    ended_at_last,
    free_port,
    processes_of,
    running_cluster,
    temporary_folder,
)
from understudy.cli.clusters.start import prepare_cluster, start_supervisor
from understudy.embedded.clusters.component import package_root
from understudy.embedded.clusters.private_files import private_folder
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, SUPERVISOR, hold_lock
from understudy.embedded.clusters.readiness import wait_until_ready
from understudy.embedded.clusters.settings import RequestedSettings
from understudy.objects.resources import NODES

HOW_MANY = 3


def play(scenario: Callable[[LiveCluster], Awaitable[None]]) -> None:
    with running_cluster(CLUSTER) as cluster:

        async def steps() -> None:
            async with living(cluster) as life:
                await scenario(life)

        asyncio.run(steps())


async def _up(life: LiveCluster, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(life.cluster.told, "up", "--detach", *options, code=code)


async def _works(life: LiveCluster, name: str) -> None:
    await life.create(name, "exit 0")
    await life.wait_for_phase("Succeeded", name)


async def _until_its_loss_is_known(life: LiveCluster, node: str) -> None:
    async with asyncio.timeout(PATIENCE):
        async for change in life.client.follow(NODES):
            document = msgspec.json.decode(change.raw or b"{}")
            if document.get("metadata", {}).get("name") == node and not _is_ready(document):
                return


def _is_ready(node: Document) -> bool:
    return ("Ready", "True") in [(one["type"], one["status"]) for one in node["status"]["conditions"]]


# A node that has failed


@pytest.mark.parametrize(
    "how", ["kill", *(pytest.param(how, marks=pytest.mark.thorough) for how in ("unplug", "freeze"))]
)
def test_a_cluster_with_a_failed_node_is_taken_over_with_its_pods(how: str) -> None:
    async def scenario(life: LiveCluster) -> None:
        await life.create("anna", FOR_EVER, nodeName="node-0")
        await life.wait_for_phase("Running", "anna")
        anna = life.life("anna")
        await asyncio.to_thread(life.cluster.understudy, "node", "fail", "node-1", "--how", how)
        await _until_its_loss_is_known(life, "node-1")
        life.cluster.kill((SUPERVISOR,))
        life.cluster.wait_until_gone(SUPERVISOR)
        told = await _up(life)
        assert "is up after" in told.stdout
        assert told.stderr.splitlines() == [
            "warning: 1 of 2 nodes is not ready",
            "  node-1: it has failed; `understudy node recover node-1` brings it back",
        ]
        assert life.life("anna") == anna
        await asyncio.to_thread(life.cluster.understudy, "node", "recover", "node-1")
        await _works(life, "bert")

    play(scenario)


def test_a_cluster_with_a_failed_node_that_was_down_comes_up_again() -> None:
    async def scenario(life: LiveCluster) -> None:
        await asyncio.to_thread(life.cluster.understudy, "node", "fail", "node-1", "--how", "kill")
        await asyncio.to_thread(life.cluster.understudy, "down")
        told = await _up(life)
        assert "is up after" in told.stdout
        assert "node-1: it has failed" in told.stderr
        await _works(life, "anna")

    play(scenario)


# A machine that is slow


def test_a_machine_too_slow_to_answer_in_time_loses_no_pod() -> None:
    async def scenario(life: LiveCluster) -> None:
        await life.create("anna", FOR_EVER)
        await life.wait_for_phase("Running", "anna")
        anna = life.life("anna")
        killed = life.cluster.kill((SUPERVISOR, *PARTS))
        for part in killed:
            life.cluster.wait_until_gone(part)
        told = await _up(life, "--wait", "0.01", code=1)
        assert "did not come up" in told.stderr
        assert "what runs goes on" in told.stderr
        for part in PARTS:
            life.cluster.wait_for_part(part, other_than=killed[part])
        await _works(life, "bert")
        assert life.life("anna") == anna

    play(scenario)


def test_a_new_cluster_that_does_not_come_up_leaves_nothing_running() -> None:
    with temporary_folder() as home, ended_at_last(ClusterProcesses(home, "default")) as cluster:
        told = cluster.told("up", "--detach", "--port", str(free_port()), "--wait", "0.01", code=1)
        assert "did not come up" in told.stderr
        eventually(lambda: not processes_of(home), lambda: f"still there: {processes_of(home)}")


# An `up` that is refused


def test_an_up_that_is_refused_stops_nothing() -> None:
    """Parts that run without a supervisor are replaced by the next one, not by a command that comes to nothing."""

    async def scenario(life: LiveCluster) -> None:
        await life.create("anna", FOR_EVER)
        await life.wait_for_phase("Running", "anna")
        anna, parts = life.life("anna"), {part: life.cluster.part(part) for part in PARTS}
        life.cluster.kill((SUPERVISOR,))
        life.cluster.wait_until_gone(SUPERVISOR)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            told = await _up(life, "--port", str(listener.getsockname()[1]), code=2)
        assert "cannot be had: another program listens there" in told.stderr
        assert {part: life.cluster.part(part) for part in PARTS} == parts
        assert (await life.pod("anna") or {})["status"]["phase"] == "Running"
        await _up(life)
        assert life.life("anna") == anna

    play(scenario)


# Who reads what the supervisor tells goes away


def test_an_up_in_the_foreground_outlives_its_readers() -> None:
    with temporary_folder() as home, ended_at_last(ClusterProcesses(home, "default")) as cluster:
        command = [sys.executable, "-m", "understudy", "up", "--port", str(free_port())]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=cluster.environment, cwd=package_root(), stdout=pipe, stderr=pipe) as up:
            assert up.stdout is not None
            assert up.stderr is not None
            up.stdout.close()
            up.stderr.close()
            for part in (CONTROL, AGENT, SERVER):
                [killed] = cluster.kill((part,)).values()
                cluster.wait_for_part(part, other_than=killed)
            assert up.poll() is None
            up.send_signal(signal.SIGINT)
            up.wait(PATIENCE)
        assert not processes_of(home)


def test_an_up_without_standard_streams_writes_into_no_other_file() -> None:
    with temporary_folder() as home, ended_at_last(ClusterProcesses(home, "default")) as cluster:
        command = [sys.executable, "-m", "understudy", "up", "--port", str(free_port())]
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
        with subprocess.Popen(closed, env=cluster.environment, cwd=package_root()) as up:
            [killed] = cluster.kill((CONTROL,)).values()
            cluster.wait_for_part(CONTROL, other_than=killed)
            holding_it = (cluster.folder.processes / SUPERVISOR).read_text()
            up.send_signal(signal.SIGINT)
            assert up.wait(PATIENCE) == 0
        assert msgspec.json.decode(holding_it)["pid"] == up.pid


# Ports


def test_clusters_of_several_users_that_start_at_once_get_ports_of_their_own() -> None:
    with ExitStack() as stack:
        clusters = [
            stack.enter_context(ended_at_last(ClusterProcesses(stack.enter_context(temporary_folder()), "default")))
            for _ in range(HOW_MANY)
        ]
        command = [sys.executable, "-m", "understudy", "up", "--detach", "--wait", str(PATIENCE)]
        starting = [
            subprocess.Popen(command, env=one.environment, cwd=package_root(), stdout=subprocess.PIPE, text=True)
            for one in clusters
        ]
        said = [process.communicate(timeout=2 * PATIENCE)[0] for process in starting]
        assert [process.returncode for process in starting] == [0] * HOW_MANY
        ports = [one.folder.read_settings().port for one in clusters]
        assert len(set(ports)) == HOW_MANY
        assert all(f"https://127.0.0.1:{port})" in text for port, text in zip(ports, said, strict=True))
        for one in clusters:
            assert "is up" in one.understudy("status", "--name", "default").splitlines()[0].replace(": up", " is up")


@contextmanager
def _stolen_port(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Between the choice of a port and the moment when the server listens on it."""
    monkeypatch.setenv("UNDERSTUDY_HOME", str(home))
    cluster = ClusterProcesses(home, "default")
    private_folder(cluster.folder.path)
    with hold_lock(cluster.folder.processes / SUPERVISOR):
        port = prepare_cluster(cluster.folder, RequestedSettings(name="default")).port
    with socket.create_server(("127.0.0.1", port)):
        yield port


@pytest.mark.thorough
def test_a_port_that_was_stolen_before_the_server_listens_is_chosen_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder() as home, ended_at_last(ClusterProcesses(home, "default")) as cluster:
        with _stolen_port(home, monkeypatch) as port:
            supervisor = start_supervisor(cluster.folder)
            asyncio.run(wait_until_ready(cluster.folder, PATIENCE))
        assert cluster.folder.read_settings().port != port
        assert f"port {port} is taken by another program" in cluster.logs()
        cluster.understudy("down")
        supervisor.wait(PATIENCE)


def test_a_port_that_another_program_has_by_now_is_chosen_anew() -> None:
    with temporary_folder() as home, ended_at_last(ClusterProcesses(home, "default")) as cluster:
        cluster.understudy("up", "--detach", "--wait", str(PATIENCE))
        before = cluster.folder.read_settings()
        cluster.understudy("down")
        with socket.create_server(("127.0.0.1", before.port)):
            told = cluster.told("up", "--detach", "--wait", str(PATIENCE))
            after = cluster.folder.read_settings()
        assert f"port {before.port} is taken by another program" in told.stderr
        assert msgspec.structs.replace(after, port=before.port) == before
        assert f"https://127.0.0.1:{after.port})" in told.stdout


def test_a_port_that_was_asked_for_and_is_taken_is_refused_and_nothing_is_left() -> None:
    with temporary_folder() as home:
        cluster = ClusterProcesses(home, "default")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
            told = cluster.told("up", "--detach", "--port", port, code=2)
        assert told.stderr.startswith(f"understudy: 127.0.0.1:{port} cannot be had")
        assert not cluster.folder.path.exists()
        assert not processes_of(home)


@pytest.mark.thorough
def test_of_two_that_ask_for_the_same_port_at_once_one_is_refused_and_leaves_nothing() -> None:
    with ExitStack() as stack:
        clusters = [
            stack.enter_context(ended_at_last(ClusterProcesses(stack.enter_context(temporary_folder()), "default")))
            for _ in range(2)
        ]
        command = [sys.executable, "-m", "understudy", "up", "--detach", "--wait", str(PATIENCE), "--port"]
        command.append(str(free_port()))
        pipe = subprocess.PIPE
        starting = [
            subprocess.Popen(command, env=one.environment, cwd=package_root(), stdout=pipe, stderr=pipe, text=True)
            for one in clusters
        ]
        said = [process.communicate(timeout=2 * PATIENCE) for process in starting]
        assert sorted(process.returncode for process in starting) == [0, 2], said
        [loser] = [number for number, process in enumerate(starting) if process.returncode == 2]
        assert "cannot be had: another program listens there" in said[loser][1]
        assert not clusters[loser].folder.path.exists()
        assert not processes_of(clusters[loser].home)
