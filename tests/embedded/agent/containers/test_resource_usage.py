"""CPU time and memory of containers, as the kernel counts them for real processes."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from understudy.embedded import agent_protocol
from understudy.embedded.agent.containers.resource_usage import Sample, UsageMeter, between, take_sample
from understudy.embedded.agent_protocol import AgentRefused, ContainerUsage, UsageReport

MAIN = ("uid", "main")
BURNS = "while True: sum(range(10_000))"
HOLDS = "kept = bytearray(64 << 20); import time; print(flush=True); time.sleep(1000)"
# A shim whose container has ended: its CPU time counts all the same.
WAITED = (
    "import subprocess, sys, time; subprocess.run([sys.executable, '-c', 'sum(range(10**7))']); "
    "print(flush=True); time.sleep(1000)"
)


@contextmanager
def shim_of(program: str) -> Iterator[int]:
    """A process whose child runs the program."""
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            if program is not BURNS:
                assert process.stdout is not None
                process.stdout.readline()
            yield process.pid
        finally:
            os.killpg(process.pid, 9)


def test_a_program_that_computes_uses_cpu_and_one_that_holds_memory_uses_memory() -> None:
    async def measured(shims: dict[tuple[str, str], int]) -> UsageReport:
        return await UsageMeter().report(shims)

    with shim_of(BURNS) as busy, shim_of(HOLDS) as large:
        report = asyncio.run(measured({("a", "busy"): busy, ("b", "large"): large}))
    used = {one.container: one for one in report.containers}
    assert used["busy"].cpu > used["large"].cpu
    assert used["large"].memory > 64 << 20 > used["busy"].memory > 0


def test_the_time_of_processes_that_have_ended_is_not_lost() -> None:
    with shim_of(WAITED) as shim:
        assert take_sample({MAIN: shim}).cpu_ticks[MAIN] > 0


def test_the_rate_is_that_between_two_samples() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    before = Sample(10.0, {MAIN: 3 * ticks}, {MAIN: 1})
    now = Sample(14.0, {MAIN: 5 * ticks, ("new", "main"): ticks}, {MAIN: 7, ("new", "main"): 9})
    report = between(before, now)
    assert report.window == 4.0
    assert report.containers == [
        ContainerUsage("uid", "main", 500_000_000, 7),
        ContainerUsage("new", "main", 250_000_000, 9),
    ]


def test_a_container_that_began_again_has_not_used_less_than_nothing() -> None:
    report = between(Sample(0.0, {MAIN: 500}, {MAIN: 1}), Sample(1.0, {MAIN: 2}, {MAIN: 1}))
    assert report.containers[0].cpu == 0


def test_a_process_that_is_gone_uses_nothing() -> None:
    sample = take_sample({MAIN: 2**22 + 1})
    assert (sample.cpu_ticks[MAIN], sample.memory[MAIN]) == (0, 0)


def test_the_agent_reports_its_running_containers_over_its_socket(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = {"name": "main", "command": [sys.executable, "-c", BURNS]}
        uid = await world.create_pod("busy", {"containers": [main]})
        await world.phase("busy", "Running")
        report = await agent_protocol.read_usage(world.folder.agent_socket)
        [used] = report.containers
        assert (used.pod_uid, used.container) == (uid, "main")
        assert used.memory > 0
        assert report.window > 0

    run_scenario(tmp_path, scenario)


def test_a_report_of_any_length_arrives_whole(tmp_path: Path) -> None:
    report = UsageReport(1.5, [ContainerUsage(f"uid-{number}", "main", number, number) for number in range(4_500)])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await agent_protocol.read_frame(reader)
        await agent_protocol.write_frame(writer, agent_protocol.CONTROL, b'{"type":"accepted"}')
        await agent_protocol.send_usage(writer, report)
        writer.close()

    async def scenario() -> None:
        listening = await asyncio.start_unix_server(answer, tmp_path / "agent")
        async with listening:
            assert await agent_protocol.read_usage(tmp_path / "agent") == report
        with pytest.raises(AgentRefused):
            await agent_protocol.read_usage(tmp_path / "nothing")

    asyncio.run(scenario())
