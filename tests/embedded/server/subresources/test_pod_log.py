"""GET pods/{name}/log."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import PODS, Server, pod, server
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder


async def logged(ask: Server, name: str, *lines: str, attempt: int = 0) -> AttemptFolder:
    """A pod whose container has written these lines."""
    uid = (await ask.get(f"{PODS}/{name}"))["metadata"]["uid"]
    folder = pod_folder(ask.state.folder.pods, uid).attempt("main", attempt)
    folder.path.mkdir(parents=True)
    write(folder, *lines)
    return folder


def write(folder: AttemptFolder, *lines: str) -> None:
    with folder.log.open("a") as log:
        for second, line in enumerate(lines):
            log.write(f"2023-11-14T22:13:{second:02d}.000000000Z stdout F {line}\n")


def test_the_lines_of_the_container(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            await logged(ask, "one", "first", "second", "third")
            reply = await ask("GET", f"{PODS}/one/log")
            assert (reply.code, reply.body) == (200, b"first\nsecond\nthird\n")
            assert reply.header("content-type").startswith("text/plain")
            for query, expected in {
                "tailLines=1": b"third\n",
                "container=main&limitBytes=5": b"first",
                "sinceTime=2023-11-14T22:13:01Z": b"second\nthird\n",
                "sinceTime=2023-11-14T23:13:01.5%2B01:00&timestamps=true": b"2023-11-14T22:13:02.000000000Z third\n",
            }.items():
                assert (await ask("GET", f"{PODS}/one/log?{query}")).body == expected, query

    asyncio.run(scenario())


def test_following_ends_with_the_container(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            folder = await logged(ask, "one", "first")
            async with ask.watch(f"{PODS}/one/log?follow=true") as stream:
                pieces = stream.exchange.pieces
                assert await pieces.get() == b""
                assert await pieces.get() == b"first\n"
                write(folder, "second")
                assert await pieces.get() == b"second\n"
                folder.exit.write_text("{}")
                assert await pieces.get() == b""
                assert await pieces.get() is None

    asyncio.run(scenario())


def test_the_log_of_the_previous_container(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            await logged(ask, "one", "before")
            status = await ask.refused(400, "BadRequest", "GET", f"{PODS}/one/log?previous=true")
            assert status["message"] == 'previous terminated container "main" in pod "one" not found'
            await logged(ask, "one", "now", attempt=1)
            assert (await ask("GET", f"{PODS}/one/log?previous=true")).body == b"before\n"

    asyncio.run(scenario())


def test_the_container_of_a_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = pod("two")
            body["spec"]["containers"].append({"name": "side", "image": "busybox"})
            body["spec"]["initContainers"] = [{"name": "first", "image": "busybox"}]
            await ask.post(PODS, body)
            status = await ask.refused(400, "BadRequest", "GET", f"{PODS}/two/log")
            assert "choose one of: [main side] or one of the init containers: [first]" in status["message"]
            status = await ask.refused(400, "BadRequest", "GET", f"{PODS}/two/log?container=none")
            assert status["message"] == "container none is not valid for pod two"
            status = await ask.refused(400, "BadRequest", "GET", f"{PODS}/two/log?container=first")
            assert status["message"] == 'container "first" in pod "two" is waiting to start'
            await ask.refused(404, "NotFound", "GET", f"{PODS}/none/log")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "query",
    [
        "tailLines=-1",
        "tailLines=x",
        "sinceSeconds=0",
        "limitBytes=0",
        "sinceTime=yesterday",
        "sinceTime=2023-13-45T00:00:00Z",
        "sinceTime=2023-11-14T22:13:01Z&sinceSeconds=3",
        "container=../../etc",
    ],
)
def test_invalid_log_options_are_refused(tmp_path: Path, query: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            await logged(ask, "one", "line")
            await ask.refused(400, "BadRequest", "GET", f"{PODS}/one/log?{query}")

    asyncio.run(scenario())
