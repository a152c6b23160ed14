"""Following a job: a line for every change, or a view that redraws itself."""

import asyncio
import contextlib
import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.cli.commands import PATIENCE
from tests.cli.queries.documents import NOW, conditions, event, pod, spec_of, summary
from tests.cli.queries.documents import job as job_object
from tests.embedded.manifests import job, jobset
from tests.embedded.real_cluster import LOOK, RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.cli.session import Session
from understudy.cli.submit.follow import change_lines, follow_job, frame_lines, noteworthy
from understudy.objects.resources import JOB_SETS, JOBS, Resource
from understudy.ports import Ref

FOLLOW = """
import asyncio, sys
from understudy.cli.submit.follow import follow_job
from understudy.cli.session import Session
from understudy.client import connect
from understudy.objects.resources import JOBS
from understudy.ports import Ref

async def main():
    async with connect(sys.argv[1]) as client:
        return await follow_job(Session(client, "default"), Ref(JOBS, "default", sys.argv[2]), live=True)

sys.exit(asyncio.run(main()))
"""


async def followed(cluster: RealCluster, resource: Resource, name: str) -> int:
    async with asyncio.timeout(PATIENCE):
        return await follow_job(Session(cluster.client, "default"), Ref(resource, "default", name), live=True)


def test_a_job_is_followed_to_its_good_or_bad_end(shared: SharedClusters, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario(cluster: RealCluster) -> None:
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

        assert await followed(cluster, JOBS, "absent") == 1
        assert capsys.readouterr().err == "understudy: job absent is gone\n"

        await cluster.create(job("waits", gpus=1))
        following = asyncio.create_task(followed(cluster, JOBS, "waits"))
        await cluster.monitor.until("why", lambda: cluster.monitor.told("FailedScheduling", "Pod", "waits"))
        said = ""
        async with asyncio.timeout(PATIENCE):
            while not re.search(r" waits PENDING(: needs 1 pod with 1 nvidia.com/gpu.*)?\n", said):
                await asyncio.sleep(LOOK)
                said += capsys.readouterr().out
        await cluster.delete(JOBS, "waits", propagation="Background")
        assert await following == 1

    shared.play([node("n-0")], scenario)


def test_a_terminal_gets_a_view_that_redraws_itself(shared: SharedClusters, tmp_path: Path) -> None:
    enough = tmp_path / "enough"

    async def scenario(cluster: RealCluster) -> None:
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

    shared.play([node("n-0")], scenario)


def _read(descriptor: int, until: str = "") -> str:
    """What the terminal gets until these words, or until the other end is closed."""
    text = ""
    with contextlib.suppress(OSError):
        while not until or until not in text:
            text += os.read(descriptor, 4096).decode()
    return text.replace("\r\n", "\n")


def test_the_first_look_tells_everything_and_the_same_look_again_nothing() -> None:
    found = summary(job_object("Job"), pod("a"), pod("b", "Pending", node="", waits="needs 1 GPU"))
    assert change_lines(None, found, NOW) == ["a RUNNING on node-a", "b PENDING", "train PENDING: needs 1 GPU"]
    assert change_lines(found, found, NOW) == []


def test_what_changed_is_told_and_what_is_gone() -> None:
    before = summary(job_object("Job"), pod("a"), pod("b", "Pending", node=""))
    after = summary(job_object("Job", status=conditions(Failed="True")), pod("b", "Failed", exit_code=3, restarts=1))
    assert change_lines(before, after, NOW) == [
        "b FAILED on node-a, started again 1 time, exit code 3",
        "a gone",
        "train FAILED after 55s: JobFailed",
    ]


@pytest.mark.parametrize(
    ("reason", "kind", "told"),
    [
        ("Started", "Normal", False),
        ("BackOff", "Warning", True),
        ("Preempted", "Normal", True),
        ("Resumed", "Normal", True),
    ],
)
def test_of_events_only_trouble_and_our_own_deeds_are_told(reason: str, kind: str, told: bool) -> None:
    assert noteworthy(event("Job/train", reason, type=kind)) is told


def test_a_view_shows_the_job_its_instances_and_the_last_event() -> None:
    found = summary(job_object("Job", spec=spec_of("Job", gpus=1, priority="high")), pod("train-abcde", gpus=1))
    assert frame_lines(found, event("Pod/train-abcde", "Started", "Started container"), NOW, (120, 30)) == [
        "train  RUNNING  JOB  priority high  age 1m  training 1m  GPUs 1/1",
        "",
        "INSTANCE     STATUS   NODE    UP",
        "train-abcde  RUNNING  node-a  1m",
        "",
        "10s ago  pod/train-abcde  Started: Started container",
    ]


def test_a_small_terminal_gets_a_small_view() -> None:
    pods = [pod(f"train-{i}") for i in range(20)] + [pod("train-99", "Pending", node="")]
    shown = frame_lines(summary(job_object("Job"), *pods), event("Job/train", "Waiting", "x" * 99), NOW, (40, 12))
    assert len(shown) <= 12
    assert all(len(line) < 40 for line in shown)
    assert shown[3].startswith("train-99")  # what does not run is worth more room than what does
    assert shown[-3] == "and 16 more"
