"""Logs of instances: of those that run, have ended, have not begun, and of the attempt before."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.cli.commands import PATIENCE, ended, refuses, shows, started, typed
from tests.cli.shell import Shell
from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.manifests import job, jobset
from tests.embedded.real_cluster import RealCluster, node, play
from tests.embedded.shared_cluster import SharedClusters
from tests.eventually import eventually_async


def pods(monitor: ClusterMonitor, name: str, phase: str, count: int = 1) -> list[Document]:
    found = [one for one in monitor.pods_of(name) if one.get("status", {}).get("phase") == phase]
    return found if len(found) == count else []


def test_logs_of_every_instance_while_it_runs_and_after(shared: SharedClusters, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    program = f"echo I am $JOB_COMPLETION_INDEX; echo two; until test -e {go_on}; do sleep 0.05; done; echo end"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(jobset("set", 1, job("any", pods=2, program=program)))
        await monitor.until("it runs", lambda: pods(monitor, "set", "Running", 2))
        follower = await started(cluster, "logs", "set", "-f", "-i", "job-0-1")
        assert follower.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert await follower.stdout.readline() == b"I am 1\n"
        assert await shows(cluster, "logs", "set") == ["I am 0", "two"]
        assert await shows(cluster, "log", "set", "--tail", "1") == ["two"]
        [stamped] = await shows(cluster, "logs", "set", "--timestamps", "-t", "1", "--since", "5m")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\S+Z two", stamped)
        said = await refuses(cluster, "logs", "set", "-i", "job-0-7")
        assert "--instance job-0-7: no such instance of set" in said
        assert "has no such container; it has main" in await refuses(cluster, "logs", "set", "-c", "other")
        before = await typed(cluster, "logs", "set", "--previous")
        assert (before.code, before.out) == (1, "")
        assert "is the first attempt: there is none before it" in before.err
        go_on.touch()
        assert (await ended(follower)).out == "two\nend\n"
        await monitor.until("it has ended", lambda: pods(monitor, "set", "Succeeded", 2))
        assert (await shows(cluster, "logs", "set"))[-1] == "end"

    shared.play([node("n-0")], scenario)


def test_the_attempt_before_one_that_failed_and_one_that_has_not_begun(tmp_path: Path) -> None:
    again = job("again", program=f"echo from inside; test -e {tmp_path}/in && sleep 1000; touch {tmp_path}/in; exit 1")
    again["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    again["spec"]["backoffLimit"] = 3

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.cordon("n-1")
        await cluster.create(again, job("fails", program="echo last words; exit 1"))
        await cluster.create(job("waits", gpus=1, program="echo begun; sleep 1000"))
        [dead] = await monitor.until("it has failed", lambda: pods(monitor, "fails", "Failed"))
        assert await shows(cluster, "logs", "fails") == ["last words"]
        assert await shows(cluster, "logs", "fails", "-i", dead["metadata"]["name"]) == ["last words"]
        await monitor.until("it was started again", lambda: _restarted(monitor, "again"))
        assert await shows(cluster, "logs", "again", "--previous") == ["from inside"]
        await monitor.until("why it waits", lambda: monitor.told("FailedScheduling", "Pod", "waits"))
        said = await typed(cluster, "logs", "waits")
        assert (said.code, said.out) == (1, "")
        assert re.match(r"understudy: waits-\S+ has no log yet: needs 1 pod with 1 nvidia.com/gpu", said.err)
        waiting = await started(cluster, "logs", "waits", "-f")
        assert waiting.stdout is not None
        await cluster.cordon("n-1", yes=False)
        async with asyncio.timeout(PATIENCE):
            assert await waiting.stdout.readline() == b"begun\n"
        waiting.terminate()
        await waiting.wait()

    play(tmp_path, [node("n-0"), node("n-1", gpu="1")], scenario)


def test_the_logs_of_a_preempted_attempt_stay_with_the_job(tmp_path: Path) -> None:
    program = "trap 'echo saved; exit 0' TERM; echo I am $UNDERSTUDY_POD_NAME; sleep 1000 & wait"
    low = jobset("low", 1, job("any", "low", pods=2, gpus=1, program=program))
    fails = job("fails", "low", gpus=2, program=program, on_preemption="fail")

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(low)
        await monitor.until("it runs", lambda: pods(monitor, "low", "Running", 2))
        stays = f"until test -e {tmp_path}/go-on; do sleep 0.05; done"
        await cluster.create(job("urgent", "high", gpus=2, program=stays))
        await monitor.until("it had to go", lambda: took_over(monitor, "urgent", "low"))
        assert (await shows(cluster, "get", "low"))[0] == "STATUS: QUEUING"
        await eventually_prints(cluster, "saved", "logs", "low")
        queued = await typed(cluster, "logs", "low", "-i", "job-0-1")
        assert queued.lines[-1] == "saved"
        told = r"understudy: low is QUEUING; this is attempt 1 of low-job-0-1-\S+, which ended with exit code 0 on n-0"
        assert re.match(told, queued.err)
        figures = json.loads("\n".join(await shows(cluster, "get", "low", "-o", "json")))
        assert figures["attempts"] == 1
        (tmp_path / "go-on").touch()
        await monitor.until("it goes on", lambda: pods(monitor, "low", "Running", 2))
        assert "ATTEMPTS: 2" in await shows(cluster, "get", "low")
        assert "saved" not in await shows(cluster, "logs", "low")
        before = await typed(cluster, "logs", "low", "--previous")
        assert (before.code, before.lines[-1]) == (0, "saved")
        assert (await typed(cluster, "logs", "low", "--attempt", "1")).out == before.out
        assert "saved" not in (await typed(cluster, "logs", "low", "--attempt", "2")).out
        said = await refuses(cluster, "logs", "low", "--attempt", "3")
        assert said == "--attempt 3: low has the logs of attempts 1, 2"
        await shows(cluster, "delete", "low")
        await cluster.create(fails)
        await monitor.until("it runs", lambda: pods(monitor, "fails", "Running"))
        await cluster.create(job("again", "high", gpus=2, program="sleep 1000"))
        await monitor.until("it had to fail", lambda: took_over(monitor, "again", "fails"))
        await eventually_prints(cluster, "saved", "logs", "fails")
        listed = await shows(cluster, "get", "fails")
        assert (listed[0], listed[-1].split()[1], listed[-1].split()[-1]) == ("STATUS: FAILED", "FAILED", "n-0")
        [wide] = [line.split() for line in await shows(cluster, "list", "-o", "wide") if " fails " in line]
        assert (wide[5], wide[8]) == ("n-0", "0/1")

    play(tmp_path, [node("n-0", gpu="2")], scenario)


def took_over(monitor: ClusterMonitor, name: str, victim: str) -> bool:
    return bool(pods(monitor, name, "Running")) and not monitor.pods_of(victim)


async def eventually_prints(cluster: RealCluster, line: str, *arguments: str) -> None:
    """The agent moves the logs of a pod soon after the pod is gone."""

    async def lines() -> list[str]:
        return (await typed(cluster, *arguments)).lines

    await eventually_async(lines, until=lambda found: line in found)


def _restarted(monitor: ClusterMonitor, name: str) -> bool:
    named = [one.get("status", {}) for one in monitor.pods_of(name)]
    return any(c["restartCount"] and "running" in c["state"] for s in named for c in s.get("containerStatuses", ()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tail", "-3"), "--tail -3: write how many lines, 0 or more"),
        (("--since", "soon"), "--since soon: not a length of time"),
        (("--since-time", "noon"), "--since-time: 'noon' is not a time"),
        (("--since", "5s", "--since-time", "2026-01-01T00:00:00Z"), "--since and --since-time both say from when on"),
        (("--type", "tensorjob"), "--type tensorjob: no such type of job"),
    ],
)
def test_invalid_flags_are_refused_before_any_request(shell: Shell, arguments: tuple[str, ...], words: str) -> None:
    shell.write(kubeconfig="current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
                "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n")  # fmt: skip
    assert words in shell.refuses("logs", "train", "--kubeconfig", "kubeconfig.yaml", *arguments)
