"""A job that is followed to its end, in lines and in a view that redraws itself."""

import asyncio
import contextlib
import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.cli.commands import PATIENCE
from tests.embedded.manifests import job, jobset
from tests.embedded.real_cluster import LOOK, RealCluster, node, play
from understudy.cli.live import follow
from understudy.cli.target import Session
from understudy.objects.resources import JOB_SETS, JOBS, Resource
from understudy.ports import Ref

FOLLOW = """
import asyncio, sys
from understudy.cli.live import follow
from understudy.cli.target import Session
from understudy.client import connect
from understudy.objects.resources import JOBS
from understudy.ports import Ref

async def main():
    async with connect(sys.argv[1]) as client:
        return await follow(Session(client, "default"), Ref(JOBS, "default", sys.argv[2]), live=True)

sys.exit(asyncio.run(main()))
"""


async def followed(cluster: RealCluster, resource: Resource, name: str) -> int:
    async with asyncio.timeout(PATIENCE):
        return await follow(Session(cluster.client, "default"), Ref(resource, "default", name), live=True)


def test_a_job_is_followed_to_its_good_or_bad_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene(cluster: RealCluster) -> None:
        await cluster.create(jobset("good", 1, job("any", pods=2, program="sleep 0.3")))
        assert await followed(cluster, JOB_SETS, "good") == 0
        lines = capsys.readouterr().out.splitlines()
        assert all(re.match(r"\d\d:\d\d:\d\d \S+ ", line) for line in lines)
        assert re.fullmatch(r"\S+ good SUCCEEDED after \ds: AllJobsCompleted", lines[-1])
        assert sum(1 for line in lines if re.fullmatch(r"\S+ good-job-0-\d-\S+ RUNNING on n-0", line)) == 2

        await cluster.create(job("bad", program="sleep 0.2; exit 5"))
        assert await followed(cluster, JOBS, "bad") == 1
        out = capsys.readouterr().out
        assert re.search(r" bad-\S+ FAILED on n-0, exit code 5\n", out)
        assert re.search(r" bad FAILED after \ds: BackoffLimitExceeded\n", out)

        assert await followed(cluster, JOBS, "nobody") == 1
        assert capsys.readouterr().err == "understudy: job nobody is gone\n"

        await cluster.create(job("waits", gpus=1))
        following = asyncio.create_task(followed(cluster, JOBS, "waits"))
        await cluster.witness.until("why", lambda: cluster.witness.told("FailedScheduling", "Pod", "waits"))
        said = ""
        async with asyncio.timeout(PATIENCE):
            while not re.search(r" waits PENDING(: needs 1 x 1 nvidia.com/gpu.*)?\n", said):
                await asyncio.sleep(LOOK)
                said += capsys.readouterr().out
        await cluster.delete(JOBS, "waits", propagation="Background")
        assert await following == 1

    play(tmp_path, [node("n-0")], scene)


def test_a_terminal_gets_a_view_that_redraws_itself(tmp_path: Path) -> None:
    enough = tmp_path / "enough"

    async def scene(cluster: RealCluster) -> None:
        await cluster.create(job("good", program=f"until test -e {enough}; do sleep 0.05; done"))
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FOLLOW, str(cluster.folder.kubeconfig), "good", stdout=theirs, env=environment
        )
        os.close(theirs)
        async with asyncio.timeout(PATIENCE):
            drawn = await asyncio.to_thread(_read, ours, "RUNNING")
            enough.touch()
            drawn += await asyncio.to_thread(_read, ours)
            assert await process.wait() == 0
        os.close(ours)
        assert re.search(r"\x1b\[\d+F\x1b\[J", drawn)
        last = drawn.rpartition("\x1b[J")[2].splitlines()
        assert last[0].startswith("good  \x1b[36mSUCCEEDED\x1b[0m  JOB  priority N/A")

    play(tmp_path, [node("n-0")], scene)


def _read(descriptor: int, until: str = "") -> str:
    """What the terminal gets until these words, or until the other end is closed."""
    text = ""
    with contextlib.suppress(OSError):
        while not until or until not in text:
            text += os.read(descriptor, 4096).decode()
    return text.replace("\r\n", "\n")
