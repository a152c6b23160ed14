"""Commands that give credentials: what they are told, how long what they give is used, what is said when they fail."""

import asyncio
import json
import stat
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.client.scripted_server import Reply, Request, Server, serving
from understudy.client import KubeClient, connect
from understudy.client.config import ExecPlugin
from understudy.client.credentials.exec_plugin import PluginRunner
from understudy.client.credentials.identity import Identity
from understudy.ports import Unreachable

VERSION = "client.authentication.k8s.io/v1"
# Counts its runs in a file, and gives a token with that number in it.
COMMAND = """#!{python}
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
with open(folder + "/runs", "a") as file:
    file.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
runs = open(folder + "/runs").read().count("\\n")
status = dict(json.loads(os.environ.get("STATUS", "{{}}")), token=f"token-{{runs}}" + "".join(sys.argv[1:]))
print(json.dumps({{"apiVersion": "{version}", "kind": "ExecCredential", "status": status}}))
"""


def plugin(folder: Path, text: str = COMMAND, **settings: Any) -> ExecPlugin:
    path = folder / "login"
    path.write_text(text.format(python=sys.executable, version=VERSION) if text is COMMAND else text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return ExecPlugin(**{"command": str(path), "api_version": VERSION, "interactive": "Never", **settings})


def runs(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "runs").read_text().splitlines()]


def used(
    given: ExecPlugin,
    use: Callable[[KubeClient, Server], Awaitable[Any]],
    good: Callable[[str], bool] = lambda _: True,
) -> list[str]:
    """The tokens of all requests, to a server that lets in those with a good one."""

    async def answer(request: Request, reply: Reply) -> None:
        if good(request.headers["authorization"]):
            await reply.json({"items": []})
        else:
            await reply.refuse(401, "Unauthorized")

    async def run() -> list[str]:
        async with serving(answer) as server, connect(server.config(token="", plugin=given)) as client:
            await use(client, server)
            return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]

    return asyncio.run(run())


async def ask(client: KubeClient, _: Server) -> None:
    await client.request("GET", "/")


async def ask_thrice(client: KubeClient, _: Server) -> None:
    await asyncio.gather(*(client.request("GET", "/") for _ in range(3)))


def test_it_is_run_once_for_many_requests_and_told_what_it_wants_to_know(tmp_path: Path) -> None:
    given = plugin(tmp_path, args=("-x",), cluster={"server": "https://here"})
    assert used(given, ask_thrice) == ["token-1-x"] * 3
    assert runs(tmp_path) == [
        {
            "apiVersion": VERSION,
            "kind": "ExecCredential",
            "spec": {"interactive": False, "cluster": {"server": "https://here"}},
        }
    ]


def test_a_token_that_the_server_knows_no_more_is_replaced_once_for_all(tmp_path: Path) -> None:
    tokens = used(plugin(tmp_path), ask_thrice, good=lambda token: token.endswith("token-2"))
    assert sorted(tokens) == ["token-1"] * 3 + ["token-2"] * 3
    assert len(runs(tmp_path)) == 2


def test_a_server_that_knows_none_of_them_is_asked_twice_and_no_more(tmp_path: Path) -> None:
    async def use(client: KubeClient, _: Server) -> None:
        with pytest.raises(Exception, match="no"):
            await client.request("POST", "/", {})

    assert used(plugin(tmp_path), use, good=lambda _: False) == ["token-1", "token-2"]


def test_a_watch_gets_a_new_token_as_well(tmp_path: Path) -> None:
    async def use(client: KubeClient, _: Server) -> None:
        assert b"".join([piece async for piece in client.stream("/log")]) == b'{"items": []}'

    assert used(plugin(tmp_path), use, good=lambda token: token.endswith("2")) == ["token-1", "token-2"]


@pytest.mark.parametrize(("left", "count"), [(3600, 1), (-1, 2)])
def test_it_is_asked_again_when_what_it_gave_has_run_out(tmp_path: Path, left: float, count: int) -> None:
    end = datetime.fromtimestamp(time.time() + left, UTC).isoformat()

    async def use(client: KubeClient, server: Server) -> None:
        await ask(client, server)
        await ask(client, server)

    given = plugin(tmp_path, env=(("STATUS", json.dumps({"expirationTimestamp": end})),))
    used(given, use)
    assert len(runs(tmp_path)) == count


def test_a_certificate_without_a_token() -> None:
    runner = PluginRunner(ExecPlugin(command="x", api_version=VERSION), Identity())
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    document = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
    found = runner._read(json.dumps(document).encode())
    assert (found.client_certificate_data, found.client_key_data) == ("CERT", "KEY")


def failure(given: ExecPlugin) -> str:
    async def use(client: KubeClient, _: Server) -> None:
        with pytest.raises(Unreachable) as caught:
            await client.request("GET", "/")
        words.append(str(caught.value))

    words: list[str] = []
    assert used(given, use) == []
    assert "\n" not in words[0]
    return words[0].removeprefix(f"the credential plugin {given.command} ")


SHELL = "#!/bin/sh\n"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo please log in >&2; echo first >&2; exit 3", "ended with 3: please log in first"),
        ("echo nonsense", "gave no ExecCredential: "),
        ("""echo '{"apiVersion":"v1","kind":"Pod"}'""", f"gave v1 Pod, not {VERSION} ExecCredential"),
        (f"""echo '{{"apiVersion":"{VERSION}","kind":"ExecCredential"}}'""", "gave neither a token nor"),
        (
            f"""echo '{{"apiVersion":"{VERSION}","kind":"ExecCredential","status":{{"clientCertificateData":"x"}}}}'""",
            "gave a client certificate or its key, but not both",
        ),
    ],
)
def test_what_it_cannot_give_is_said_in_one_line(tmp_path: Path, script: str, complaint: str) -> None:
    assert failure(plugin(tmp_path, SHELL + script)).startswith(complaint)


def test_one_that_is_not_there_comes_with_the_hint_where_to_get_it() -> None:
    given = ExecPlugin(command="no-such-login", api_version=VERSION, hint="Install it:\n  run this")
    assert failure(given) == "not found; Install it: run this"


def test_a_plugin_that_always_interacts_needs_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert "there is none" in failure(plugin(tmp_path, interactive="Always"))


def test_one_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.credentials.exec_plugin.TIMEOUT", 0.2)
    assert failure(plugin(tmp_path, SHELL + "exec sleep 60")) == "gave no credentials within 0.2 s"
