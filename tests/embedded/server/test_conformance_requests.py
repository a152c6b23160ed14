"""The embedded server answers as a kube-apiserver does; tests/kube sends the same requests to a real one."""

import asyncio
from pathlib import Path

import pytest

from tests.embedded.server.conformance_requests import JUDGED, Asked, Judged, contains, named
from tests.embedded.server.conformance_stories import STORIES
from tests.embedded.server.in_process_server import Reply, Server, server

NAMESPACE = "default"
ALL = {**JUDGED, **STORIES}


@pytest.mark.parametrize("judged", ALL.values(), ids=ALL)
def test_the_answer_is_that_of_kubernetes(tmp_path: Path, judged: Judged) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for asked in judged.before:
                reply = await _answer(ask, asked)
                assert reply.code < 300, reply.body
            reply = await _answer(ask, judged.asked)
            message = reply.json.get("message", "") if reply.code >= 400 else ""
            assert (reply.code, message) == (judged.code, message)
            assert named(judged.words, NAMESPACE) in message
            wanted = named(judged.answer, NAMESPACE)
            assert wanted is None or contains(reply.json, wanted), reply.body
            warnings = [one for one in reply.warnings if "no effect" not in one]
            if judged.warning is not None:
                assert bool(warnings) is bool(judged.warning), warnings
                assert named(judged.warning, NAMESPACE) in "".join(warnings)

    asyncio.run(scenario())


async def _answer(ask: Server, asked: Asked) -> Reply:
    path, body, method, content_type, headers = asked.at(NAMESPACE)
    return await ask(method, path, body, content_type=content_type, headers=headers)
