"""`understudy why` on a cluster that really runs: every guard that lets a job wait is told, with the end of it."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import shows, typed
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, Setup, node, play
from understudy.decide.policy import Policy
from understudy.kinds.annotations import format_time, format_times
from understudy.objects.resources import NODES

POOL = "pool"
GUARDS = Setup(policy=Policy(preemptions_per_hour=1, mass_failure_nodes=1, mass_failure_share=0.1, pool_label=POOL))
UNTIL = re.compile(r"until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(in \d+[smhd]\)")


def bound_to(pool: str, document: dict[str, Any]) -> dict[str, Any]:
    document["spec"]["template"]["spec"]["nodeSelector"] = {POOL: pool}
    return document


async def told(cluster: RealCluster, name: str, guard: str) -> str:
    """The sentence that names the guard, as soon as there is one."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        said = await shows(cluster, "why", name)
        if found := [line for line in said if guard in line]:
            assert UNTIL.search(found[0]), found
            return found[0]
    raise AssertionError(f"{name} does not say {guard}: {said}")


def test_every_guard_is_told_with_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path))
    nodes = [node(name, gpu="1", labels={POOL: name}) for name in ("kept", "taken", "lemon")]
    nodes += [node(name, gpu="1", labels={POOL: "mass"}) for name in ("m1", "m2")]

    async def scenario(cluster: RealCluster) -> None:
        now, until = time.time(), cluster.monitor.until
        await cluster.priorities(low=1, high=2)

        buggy = bound_to("kept", job("buggy", gpus=1, failed_at=format_times([now - 9, now + 500])))
        await cluster.create(buggy)
        line = await told(cluster, "buggy", "back-off")
        assert line.startswith("It waits: back-off: it failed 2 times on healthy nodes lately, until ")

        await cluster.create(bound_to("taken", job("small", "low", gpus=1)))
        await until("small runs", lambda: running(cluster, "small"))
        await cluster.create(bound_to("taken", job("greedy", "high", gpus=1, preempted_for=format_time(int(now) - 60))))
        line = await told(cluster, "greedy", "preemption budget")
        assert "others were preempted for it 1 times within the hour, until " in line
        assert running(cluster, "small")

        failed = {"metadata": {"annotations": {"understudy.dev/failed-at": format_times([now - 3, now - 2, now - 1])}}}
        await cluster.patch(NODES, "lemon", failed)
        await cluster.create(bound_to("lemon", job("unlucky", gpus=1)))
        assert "lemon node: failed 3 times lately, until " in await told(cluster, "unlucky", "lemon node")

        await cluster.create(bound_to("mass", job("wide", gpus=1)))
        seat = await until("wide runs", lambda: running(cluster, "wide"))
        await shows(cluster, "node", "fail", seat, "--how", "gpu")
        line = await told(cluster, "wide", "mass failure")
        assert "it could not be made whole: mass failure: 1 of 2 nodes of mass turned bad at once, until " in line
        assert running(cluster, "wide") == seat

    play(tmp_path / "clusters", nodes, scenario, GUARDS)


def running(cluster: RealCluster, name: str) -> str:
    """The node of its pod."""
    pods = [one for one in cluster.monitor.pods_of(name) if one.get("status", {}).get("phase") == "Running"]
    return str(pods[0]["spec"]["nodeName"]) if pods else ""


def test_a_crash_loop_and_a_class_that_is_missing_are_told_with_the_way_out(tmp_path: Path) -> None:
    loop = job("loop", program="echo step 1; echo RuntimeError: no data; exit 3")
    loop["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    loop["spec"]["backoffLimit"] = 20

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(loop, job("unranked", "urgent"))
        await cluster.monitor.until("it crashes again and again", lambda: crash_loop(cluster))
        said = await shows(cluster, "why", "loop")
        assert said[0].endswith("0 of 1 instances run.")
        assert " is in a crash loop: container main was restarted " in said[1]
        assert " its last exit code is 3;" in said[1]
        assert said[2] == "The last line it printed: RuntimeError: no data"
        assert (await shows(cluster, "get", "loop"))[0] == "STATUS: PENDING"
        assert "CrashLoopBackOff: main, " in (await shows(cluster, "list", "-o", "wide"))[1]
        await cluster.monitor.until(
            "why there are no pods", lambda: cluster.monitor.told("FailedCreate", "Job", "unranked")
        )
        said = await shows(cluster, "why", "unranked")
        assert "Its pods are not made: the cluster has no PriorityClass urgent." in said
        no_log = await typed(cluster, "logs", "unranked")
        assert (no_log.code, "`understudy priority create urgent" in no_log.err) == (1, True)

    play(tmp_path, [node("n-0")], scenario)


def crash_loop(cluster: RealCluster) -> bool:
    statuses = [
        status for one in cluster.monitor.pods_of("loop") for status in one["status"].get("containerStatuses", ())
    ]
    return any(status["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff" for status in statuses)


def test_a_program_that_does_not_exist_and_a_failed_init_container(tmp_path: Path) -> None:
    absent, cloned = job("absent"), job("cloned")
    absent["spec"]["template"]["spec"]["containers"][0]["command"] = ["pythonn", "train.py"]
    first = {"name": "init-code", "image": "any", "command": ["sh", "-c", "echo no such host; exit 128"]}
    cloned["spec"]["template"]["spec"]["initContainers"] = [first]

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(absent, cloned)
        await cluster.monitor.until("both failed", lambda: all(phases(cluster, name) for name in ("absent", "cloned")))
        assert any("there is no program pythonn" in line for line in await shows(cluster, "why", "absent"))
        no_log = await typed(cluster, "logs", "absent")
        assert (no_log.code, no_log.out, "there is no program pythonn" in no_log.err) == (0, "", True)
        said = await shows(cluster, "why", "cloned")
        assert any("its init container init-code ended with exit code 128" in line for line in said)
        assert "The last line it printed: no such host" in said
        log = await typed(cluster, "logs", "cloned")
        assert (log.out, "the init container init-code, which failed" in log.err) == ("no such host\n", True)

    play(tmp_path, [node("n-0")], scenario)


def phases(cluster: RealCluster, name: str) -> bool:
    return any(one.get("status", {}).get("phase") == "Failed" for one in cluster.monitor.pods_of(name))
