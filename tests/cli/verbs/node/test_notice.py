"""`understudy node notice`: rehearsed notices on a cluster that really runs, wrong input, and two commands at once."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.commands import ended, refuses, shows, started, typed
from tests.cli.shell import Shell
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node, play
from tests.eventually import eventually_async
from understudy.model.nodes import Notice
from understudy.node_agent.notices.notice_annotation import notice_in
from understudy.objects.resources import NODES

TWO = [node("a", gpu="4"), node("b", gpu="4")]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where the cluster of the test is one of this machine's; the folder its folder goes into."""
    with mock.patch.dict(os.environ, UNDERSTUDY_HOME=str(tmp_path)):
        yield tmp_path / "clusters"


def notice(cluster: RealCluster, name: str) -> Notice | None:
    document = cluster.monitor.find(NODES, name) or {"metadata": {}}
    return notice_in(name, document["metadata"].get("annotations", {}))


def seat(cluster: RealCluster) -> str:
    up = [pod for pod in cluster.monitor.pods_of("train") if pod.get("status", {}).get("phase") == "Running"]
    return str(up[0]["spec"]["nodeName"]) if len(up) == 1 else ""


async def status(cluster: RealCluster, name: str) -> str:
    [line] = [line for line in await shows(cluster, "node", "list") if line.startswith(f"{name} ")]
    return line.split()[1]


def test_a_notice_makes_nodes_leaving_until_it_is_withdrawn(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        lines = await shows(cluster, "node", "notice", "a", "b", "--in", "1h30m", "--cloud", "azure")
        for name, line in zip("ab", lines, strict=True):
            assert re.fullmatch(rf"node/{name} has a notice: its machine goes in 1h (29|30)m, at \S+Z", line)
        await eventually_async(lambda: notice(cluster, "b"))
        found = notice(cluster, "a")
        assert found is not None
        assert (found.source, found.cause) == ("azure", "Preempt")
        assert found.at is not None
        assert found.deadline == pytest.approx(found.at + 5400, abs=0.01)
        assert await status(cluster, "a") == "Ready,Leaving"
        assert await shows(cluster, "node", "notice", "a", "--withdraw") == ["node/a: the notice is withdrawn"]
        assert await shows(cluster, "node", "notice", "a", "b", "--withdraw") == [
            "node/a has no notice",
            "node/b: the notice is withdrawn",
        ]
        assert await status(cluster, "a") == "Ready"

    play(tmp_path, TWO, scenario)


def test_of_two_notices_the_earlier_one_stands(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await shows(cluster, "node", "notice", "a", "--in", "1h")
        told = await refuses(cluster, "node", "notice", "b", "a", "--in", "2h", "--cause", "Reboot")
        assert told.startswith("node a has a notice of rehearsal with an earlier deadline, ")
        assert told.endswith("Z; --replace puts this one in its place")
        assert notice(cluster, "b") is None, "nothing is written when a part is refused"
        await shows(cluster, "node", "notice", "a", "--in", "30m", "--cause", "Reboot")
        await eventually_async(lambda: (notice(cluster, "a") or Notice(0.0)).cause == "Reboot")
        await shows(cluster, "node", "notice", "a", "--in", "3h", "--replace")
        await eventually_async(lambda: (notice(cluster, "a") or Notice(0.0)).cause == "rehearsed")

    play(tmp_path, TWO, scenario)


def test_of_two_notices_at_once_one_stands_and_both_are_answered(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        first = await started(cluster, "node", "notice", "a", "--in", "10m", "--cause", "first")
        second = await started(cluster, "node", "notice", "a", "--in", "20m", "--cause", "second")
        assert (await ended(first)).code == 0
        said = await ended(second)
        assert said.code == 0 or "has a notice of rehearsal with an earlier deadline" in said.err
        await eventually_async(lambda: (notice(cluster, "a") or Notice(0.0)).cause == "first")

    play(tmp_path, TWO, scenario)


def test_a_node_dies_at_the_deadline_and_its_job_has_moved(home: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        body = job("train", gpus=4)
        await cluster.create({**body, "spec": {**body["spec"], "backoffLimit": 3}})
        first = await cluster.monitor.until("it runs", lambda: seat(cluster))
        lines = await shows(cluster, "node", "notice", first, "--in", "2s", "--then-fail")
        assert lines[-1] == f"node/{first} is dead: its machine is gone"
        await cluster.monitor.until("it runs elsewhere", lambda: seat(cluster) not in ("", first))
        assert (await status(cluster, first)).startswith("NotReady")

    play(home, TWO, scenario)


def test_a_node_whose_notice_is_withdrawn_lives_on(home: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        waiting = asyncio.create_task(typed(cluster, "node", "notice", "a", "--in", "10s", "--then-fail"))
        await eventually_async(lambda: notice(cluster, "a"))
        await typed(cluster, "node", "notice", "a", "--withdraw")
        said = await waiting
        assert (said.code, said.err) == (0, "")
        assert said.lines[-1] == "node/a lives on: the notice was withdrawn or replaced"
        assert await status(cluster, "a") == "Ready"

    play(home, TWO, scenario)


def test_an_unknown_node_is_named_and_no_other_is_touched(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        for arguments in (("--in", "30s"), ("--withdraw",)):
            assert "NODE: no node 'slce-a'" in await refuses(cluster, "node", "notice", "slice-b", "slce-a", *arguments)
            assert "did you mean slice-a" in await refuses(cluster, "node", "notice", "slce-a", *arguments)
        assert notice(cluster, "slice-b") is None

    play(tmp_path, [node("slice-a"), node("slice-b")], scenario)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a"], "one of the arguments --in --at --withdraw is required"),
        (["--in", "30s"], "the following arguments are required: NODE"),
        (["a", "--in", "30"], "--in 30: not a length of time; write it like 90s"),
        (["a", "--in", "soon"], "--in soon: not a length of time"),
        (["a", "--in", "-5s"], "expected one argument"),
        (["a", "--in", "0"], "--in 0: the deadline is in the past"),
        (["a", "--at", "2020-01-01T00:00:00Z"], "--at 2020-01-01T00:00:00Z: the deadline is in the past"),
        (["a", "--at", "noon"], "--at: 'noon' is not a time; write RFC 3339"),
        (["a", "--in", "5s", "--at", "+5m"], "not allowed with argument"),
        (["a", "--in", "5s", "--cloud", "gpc"], "did you mean gcp"),
        (["a", "--in", "5s", "--cause", ""], "--cause '': write one word"),
        (["a", "--in", "5s", "--cause", "a,b=c"], "--cause 'a,b=c': write one word"),
        (["a", "--in", "5s", "--cause", "x" * 41], "write one word"),
        (["a", "--withdraw", "--in", "5s"], "not allowed with argument"),
        (["a", "--withdraw", "--then-fail"], "--then-fail: a notice that is withdrawn has none; leave it out"),
        (["a", "--withdraw", "--cause", "x"], "--cause: a notice that is withdrawn has none"),
    ],
)
def test_wrong_input_is_named(shell: Shell, arguments: list[str], said: str) -> None:
    code, out, err = shell.run("node", "notice", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_nodes_of_other_clusters_do_not_die(shell: Shell) -> None:
    far = "current-context: f\ncontexts: [{name: f, context: {cluster: f}}]\n"
    (shell.folder / "far").write_text(far + 'clusters: [{name: f, cluster: {server: "https://far.example:6443"}}]\n')
    said = shell.refuses("node", "notice", "a", "--in", "5s", "--then-fail", "--kubeconfig", "far")
    assert said.startswith("understudy: https://far.example:6443 is no embedded cluster of this machine")
