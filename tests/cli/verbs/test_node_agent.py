"""`understudy node-agent`: options and environment, wrong input, and a process that runs until it is told to end."""

import asyncio
import re
import signal
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.cli.commands import ended, started
from tests.cli.shell import Shell
from tests.embedded.real_cluster import RealCluster, node, play
from tests.eventually import eventually_async
from tests.node_agent.fake_node_api import FakeNodeApi
from tests.node_agent.metadata_stand_in import AZURE_EVENTS, stand_in
from understudy.cli.verbs.node_agent import agent_options, endpoints
from understudy.cli.verbs.parser import root_parser
from understudy.kube.probe_server import Reply
from understudy.node_agent.agent import AgentOptions, NodeAgent
from understudy.objects.resources import NODES

PREEMPT = {"EventId": "1", "EventStatus": "Scheduled", "EventType": "Preempt", "Resources": ["a"],
           "NotBefore": "Mon, 19 Jan 2037 00:00:00 GMT"}  # fmt: skip


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBERNETES_SERVICE_HOST", "NODE_NAME"):
        monkeypatch.delenv(name, raising=False)


def options(*arguments: str) -> AgentOptions:
    return agent_options(root_parser().parse_args(["node-agent", *arguments]))


def test_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options("--node", "a") == AgentOptions(node="a")
    monkeypatch.setenv("NODE_NAME", "b")
    assert options().node == "b"
    assert options("--node", "a").node == "a"


def test_what_is_a_notice_can_be_chosen() -> None:
    assert options("--node", "a", "--ignore", "none").ignored == frozenset()
    assert options("--node", "a", "--ignore", "Freeze, Reboot").ignored == {"Freeze", "Reboot"}
    assert options("--node", "a", "--gcp-notice", "2m").spot_notice == 120.0
    assert options("--node", "a", "--fatal-xids", "79,13").fatal_xids == {13, 79}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--node: name the node whose machine this is, or set $NODE_NAME"),
        (["--node", "a", "--cloud", "azur"], "did you mean azure"),
        (["--node", "a", "--metadata", "169.254.169.254"], "--metadata: '169.254.169.254' is no address"),
        (["--node", "a", "--metadata", "https://x"], "write http://HOST:PORT"),
        (["--node", "a", "--metadata", "http://x:port"], "--metadata: 'http://x:port' is no address"),
        (["--node", "a", "--gcp-notice", "30"], "--gcp-notice 30: not a length of time"),
        (["--node", "a", "--gcp-notice", "0"], "--gcp-notice 0: a notice has some length"),
        (["--node", "a", "--fatal-xids", "79,x"], "--fatal-xids: 'x' is no number of an Xid"),
        (["--node", "a", "--listen", "9809"], "--listen 9809: expected HOST:PORT"),
        (["--node", "a", "--gpus", "rocm"], "invalid choice: 'rocm'"),
        (["--node", "a", "-n", "team"], "unrecognized arguments"),
        (["--node", "a", "--kubeconfig", "none"], "none: cannot be read"),
    ],
)
def test_wrong_input_is_named(shell: Shell, arguments: list[str], said: str) -> None:
    code, out, err = shell.run("node-agent", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_it_is_ready_when_its_node_was_read() -> None:
    agent = NodeAgent(FakeNodeApi("a"), AgentOptions(node="a"))
    pages = endpoints(agent)
    assert pages["/readyz"]() == Reply(HTTPStatus.SERVICE_UNAVAILABLE, "the node was not read yet\n")
    agent.ready = True
    assert pages["/readyz"]() == pages["/healthz"]() == Reply(HTTPStatus.OK, "ok\n")


def test_it_runs_until_it_is_told_to_end(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        async with stand_in() as metadata:
            flags = ("--cloud", "azure", "--metadata", metadata.address, "--gpus", "none", "--listen", "127.0.0.1:0")
            process = await started(cluster, "node-agent", "--node", "a", *flags)
            unknown = await started(cluster, "node-agent", "--node", "c", *flags)

            def notice() -> str:
                found = cluster.monitor.find(NODES, "a") or {}
                return str(found.get("metadata", {}).get("annotations", {}).get("understudy.dev/notice", ""))

            await eventually_async(lambda: metadata.count(AZURE_EVENTS) >= 1)
            metadata.announce_events(PREEMPT)
            await eventually_async(notice)
            assert re.fullmatch(r"deadline=2037-01-19T00:00:00Z,source=azure,cause=Preempt,at=[0-9T:.Z-]+", notice())
            metadata.announce_events()
            await eventually_async(lambda: not notice())
            process.send_signal(signal.SIGTERM)
            said = await ended(process)
            assert said.code == 0, said.err
            said = await ended(unknown)
            assert (said.code, said.err.splitlines()[-1]) == (2, "understudy: --node: the cluster has no node 'c'")

    play(tmp_path, [node("a", gpu="4"), node("b", gpu="4")], scenario)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        process = await started(cluster, "node-agent", "--node", "a", "--listen", f"127.0.0.1:{port}")
        said = await ended(process)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith(f"understudy: --listen 127.0.0.1:{port}: ")
        taken.close()

    play(tmp_path, [node("a")], scenario)
