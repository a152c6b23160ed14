"""What a container writes is sent to those who attach, from then on."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.embedded.server.in_process_server import MERGE, PODS, Server, pod, server
from tests.embedded.server.terminal import terminal
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder

WHERE = f"{PODS}/one/attach"


async def started(ask: Server) -> AttemptFolder:
    await ask.post(PODS, pod("one"))
    uid = (await ask.get(f"{PODS}/one"))["metadata"]["uid"]
    folder = pod_folder(ask.state.folder.pods, uid).attempt("main", 0)
    folder.path.mkdir(parents=True)
    write(folder, "stdout F before")
    return folder


def write(folder: AttemptFolder, *lines: str) -> None:
    with folder.log.open("a") as log:
        for line in lines:
            log.write(f"2023-11-14T22:13:00.000000000Z {line}\n")


def test_both_streams_are_sent_apart_until_the_container_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            folder = await started(ask)
            async with terminal(ask, "stdout=true&stderr=true", path=WHERE) as client:
                assert (await client.next())["subprotocol"] == "v5.channel.k8s.io"
                write(folder, "stdout F one", "stdout P half", "stdout F  whole", "stderr F wrong")
                assert await client.read() == (1, b"one\nhalf whole\n")
                assert await client.read() == (2, b"wrong\n")
                folder.exit.write_text("{}")
                channel, status = await client.read()
                assert (channel, msgspec.json.decode(status)["status"]) == (3, "Success")
                assert (await client.next())["type"] == "websocket.close"

    asyncio.run(scenario())


def test_only_the_streams_that_were_asked_for_are_sent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            folder = await started(ask)
            async with terminal(ask, "stderr=true", path=WHERE) as client:
                await client.next()
                write(folder, "stdout F one", "stderr F wrong")
                assert await client.read() == (2, b"wrong\n")

    asyncio.run(scenario())


def test_input_is_refused_in_words(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await started(ask)
            async with terminal(ask, "stdin=true&stdout=true", path=WHERE) as client:
                await client.next()
                channel, status = await client.read()
                assert channel == 3
                assert "have no standard input: attach without -i" in msgspec.json.decode(status)["message"]

    asyncio.run(scenario())


@pytest.mark.parametrize(("phase", "said"), [("Succeeded", "completed pod"), ("", "waiting to start")])
def test_a_pod_that_does_not_run_is_refused_before_the_upgrade(tmp_path: Path, phase: str, said: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            if phase:
                await ask("PATCH", f"{PODS}/one/status", {"status": {"phase": phase}}, content_type=MERGE)
            async with terminal(ask, "stdout=true", path=WHERE) as client:
                code, status = await client.refusal()
                assert (code, said in status["message"]) == (400, True)

    asyncio.run(scenario())


def test_without_a_websocket_the_client_is_told_what_it_needs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await started(ask)
            status = await ask.refused(400, "BadRequest", "POST", f"{WHERE}?stdout=true")
            assert "WebSockets only: use kubectl 1.30" in status["message"]

    asyncio.run(scenario())
