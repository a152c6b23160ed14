"""Probes: thresholds, and containers that become ready or are restarted by real checks."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario, state
from tests.eventually import eventually_async
from understudy.embedded.agent.api.pod_types import (
    Container,
    ContainerPort,
    HttpGetAction,
    HttpHeader,
    Probe,
    TcpSocketAction,
)
from understudy.embedded.agent.containers.probe_checks import CheckResult, run_check
from understudy.embedded.agent.containers.probe_runner import ProbeOutcome, ResultStreak, add_result, probe_outcome


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ("+", ProbeOutcome.OPEN),
        ("++", ProbeOutcome.PASSED),
        ("+-+", ProbeOutcome.OPEN),
        ("--", ProbeOutcome.OPEN),
        ("---", ProbeOutcome.FAILED),
        ("--+--", ProbeOutcome.OPEN),
        ("---+", ProbeOutcome.OPEN),
        ("---++", ProbeOutcome.PASSED),
    ],
)
def test_only_results_in_a_row_count(results: str, expected: ProbeOutcome) -> None:
    streak = ResultStreak()
    for result in results:
        streak = add_result(streak, CheckResult(result == "+"))
    assert probe_outcome(Probe(success_threshold=2, failure_threshold=3), streak) is expected


def answering(first_line: bytes) -> Any:
    """A web server with one answer, which records its requests."""
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(first_line + b"\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    return handle, asked


async def _never(*_: object) -> CheckResult:
    raise AssertionError("nothing is to be run")


@pytest.mark.parametrize(
    ("line", "passed", "message"),
    [
        (b"HTTP/1.1 200 OK", True, ""),
        (b"HTTP/1.1 302 Found", True, ""),
        (b"HTTP/1.0 404 Not Found", False, "HTTP probe failed with statuscode: 404"),
        (b"HTTP/1.1 503 Busy", False, "HTTP probe failed with statuscode: 503"),
        (b"SSH-2.0", False, "the answer is not HTTP"),
    ],
)
def test_http_checks(line: bytes, passed: bool, message: str) -> None:
    async def scenario() -> None:
        handle, asked = answering(line)
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            container = Container("main", ports=(ContainerPort(port, "web"),))
            action = HttpGetAction("web", "healthz?full=1", http_headers=(HttpHeader("X-Probe", "yes"),))
            assert await run_check(action, container, "127.0.0.1", _never, 5.0) == CheckResult(passed, message)
            assert asked[0].startswith(b"GET /healthz?full=1 HTTP/1.1\r\n")
            assert b"X-Probe: yes\r\n" in asked[0]
            assert await run_check(TcpSocketAction(port), container, "127.0.0.1", _never, 5.0) == CheckResult(True)
        assert not (await run_check(TcpSocketAction(port), container, "127.0.0.1", _never, 5.0)).passed

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (HttpGetAction("nameless"), "couldn't find port: nameless"),
        (HttpGetAction(1, "/\r\nEvil: yes", host="127.0.0.1"), "must be single lines"),
    ],
)
def test_probes_that_cannot_be_run_fail_with_a_message(action: HttpGetAction, words: str) -> None:
    async def scenario() -> None:
        handle, _ = answering(b"HTTP/1.1 200 OK")
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            given = (
                action
                if isinstance(action.port, str)
                else HttpGetAction(server.sockets[0].getsockname()[1], action.path)
            )
            result = await run_check(given, Container("main"), "127.0.0.1", _never, 5.0)
        assert not result.passed
        assert words in result.message

    asyncio.run(scenario())


def test_a_container_is_ready_when_its_probe_says_so(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        probe = {"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 1, "failureThreshold": 1}
        main = {"name": "main", "command": ["sleep", "1000"], "readinessProbe": probe}
        uid = await world.create_pod("shy", {"containers": [main]})
        pod = await world.phase("shy", "Running")
        assert state(pod)["ready"] is False
        (world.folder.pods / uid / "root" / "ready").touch()
        await world.cluster.until(lambda: state(world.cluster.pod("shy"))["ready"] is True)
        (world.folder.pods / uid / "root" / "ready").unlink()
        await world.cluster.until(lambda: state(world.cluster.pod("shy"))["ready"] is False)
        assert state(world.cluster.pod("shy"))["restartCount"] == 0

    run_scenario(tmp_path, scenario)


def test_a_container_that_fails_its_liveness_probe_is_restarted(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        probe = {"exec": {"command": ["sh", "-c", "echo unwell; exit 1"]}, "periodSeconds": 1, "failureThreshold": 1}
        main = {"name": "main", "command": ["sleep", "1000"], "livenessProbe": probe}
        await world.create_pod("sick", {"containers": [main], "terminationGracePeriodSeconds": 1})
        await world.phase("sick", "Running")
        await world.cluster.until(lambda: state(world.cluster.pod("sick"))["restartCount"] == 1)
        events = dict(world.cluster.events("sick"))
        assert events["Unhealthy"] == "Liveness probe failed: unwell"
        assert "failed liveness probe" in events["Killing"]
        assert state(world.cluster.pod("sick"))["lastState"]["terminated"]["exitCode"] == 143

    run_scenario(tmp_path, scenario)


def test_other_probes_wait_for_the_startup_probe(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = {
            "name": "main",
            "command": ["sleep", "1000"],
            "startupProbe": {"exec": {"command": ["test", "-e", "up"]}, "periodSeconds": 1, "failureThreshold": 100},
            "livenessProbe": {"exec": {"command": ["test", "-e", "up"]}, "periodSeconds": 1, "failureThreshold": 1},
        }
        uid = await world.create_pod("slow", {"containers": [main]})
        pod = await world.phase("slow", "Running")
        assert (state(pod)["started"], state(pod)["ready"]) == (False, False)
        (world.folder.pods / uid / "root" / "up").touch()
        await world.cluster.until(lambda: state(world.cluster.pod("slow"))["started"] is True)
        assert state(world.cluster.pod("slow"))["ready"] is True
        assert state(world.cluster.pod("slow"))["restartCount"] == 0

    run_scenario(tmp_path, scenario)


def test_a_probe_that_hangs_fails_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        command = ["sh", "-c", "echo $$$$ > pid; sleep 1000"]
        probe = {"exec": {"command": command}, "periodSeconds": 1, "timeoutSeconds": 1}
        uid = await world.create_pod(
            "hangs", {"containers": [{"name": "main", "command": ["sleep", "1000"], "readinessProbe": probe}]}
        )
        await world.cluster.until(lambda: "Unhealthy" in dict(world.cluster.events("hangs")))
        assert "timed out after 1s" in dict(world.cluster.events("hangs"))["Unhealthy"]
        first = int((world.folder.pods / uid / "root" / "pid").read_text())
        await eventually_async(lambda: not Path(f"/proc/{first}/cwd").exists())

    run_scenario(tmp_path, scenario)
