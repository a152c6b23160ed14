"""Ports: several pods listen on the same port, and containers reach their pod at localhost."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from understudy.embedded.shim import interposer

LISTEN = """
import os, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], 29500), family=family, dualstack_ipv6=sys.argv[1] == "::") as server:
    print("up", flush=True)
    while True:
        with server.accept()[0] as peer:
            peer.sendall(os.environ["HOSTNAME"].encode())
"""
ASK = """
import socket, sys
for host in sys.argv[1:]:
    try:
        with socket.create_connection((host, 29500), timeout=10) as peer:
            print(host, peer.recv(100).decode(), flush=True)
    except OSError as problem:
        print(host, type(problem).__name__, flush=True)
"""

compiles = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler on this machine"
)


def python(name: str, script: str, *arguments: str) -> dict[str, Any]:
    return {"name": name, "command": ["python", "-c", script, *arguments]}


async def ask(world: AgentWorld, name: str, *hosts: str) -> str:
    uid = await world.create_pod(name, {"containers": [python("main", ASK, *hosts)], "restartPolicy": "Never"})
    await world.phase(name, "Succeeded", "Failed")
    return await world.log(uid)


@compiles
def test_pods_may_listen_on_the_same_port(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        for name, address in (("a", "0.0.0.0"), ("b", "::"), ("c", "127.0.0.1"), ("d", "d")):
            uid = await world.create_pod(name, {"containers": [python("main", LISTEN, address)]})
            await world.logged(uid, "up")
        assert await ask(world, "client", "a", "b", "c", "d") == "a a\nb b\nc c\nd d\n"
        assert await ask(world, "lonely", "localhost") == "localhost ConnectionRefusedError\n"

    run_scenario(tmp_path, scenario)


@compiles
def test_the_containers_of_a_pod_meet_at_localhost(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        server = {**python("server", LISTEN, "0.0.0.0"), "restartPolicy": "Always"}
        server["startupProbe"] = {"tcpSocket": {"port": 29500}, "periodSeconds": 1}
        client = python("main", ASK, "localhost", "127.0.0.1", "::1", "pair")
        spec = {"initContainers": [server], "containers": [client], "restartPolicy": "Never"}
        uid = await world.create_pod("pair", spec)
        await world.phase("pair", "Succeeded", "Failed")
        assert await world.log(uid) == "localhost pair\n127.0.0.1 pair\n::1 pair\npair pair\n"

    run_scenario(tmp_path, scenario)


@compiles
def test_a_pod_with_host_network_uses_the_ports_of_the_machine(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = "import os; print(os.environ.get('LD_PRELOAD', 'none'))"
        spec = {"containers": [python("main", script)], "restartPolicy": "Never"}
        plain = await world.create_pod("plain", spec)
        host = await world.create_pod("host", {**spec, "hostNetwork": True})
        for name in ("plain", "host"):
            await world.phase(name, "Succeeded", "Failed")
        assert "interposer" in await world.log(plain)
        assert await world.log(host) == "none\n"

    run_scenario(tmp_path, scenario)


def test_without_a_compiler_pods_share_the_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(folder: Path) -> Path:
        raise interposer.CannotBuild(f"nothing compiles in {folder}")

    monkeypatch.setattr(interposer, "build", cannot)

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("plain", "exit 0")
        await world.phase("plain", "Succeeded")

    run_scenario(tmp_path, scenario)


def test_a_missing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(interposer.CannotBuild, match="there is no C compiler"):
        interposer.build(tmp_path)


@compiles
def test_the_library_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = interposer.build(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert interposer.build(tmp_path) == library


@compiles
def test_ld_preload_of_the_pod_is_kept(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        env = [{"name": "LD_PRELOAD", "value": "libc.so.6"}]
        main = {"name": "main", "command": ["sh", "-c", "echo $LD_PRELOAD"], "env": env}
        uid = await world.create_pod("both", {"containers": [main], "restartPolicy": "Never"})
        await world.phase("both", "Succeeded", "Failed")
        assert (await world.log(uid)).endswith(".so:libc.so.6\n")

    run_scenario(tmp_path, scenario)
