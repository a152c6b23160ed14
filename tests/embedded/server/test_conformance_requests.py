"""The embedded server answers as a kube-apiserver does; tests/kube sends the same requests to a real one."""

import asyncio
from pathlib import Path

import pytest

from tests.embedded.server.conformance_requests import JUDGED, Judged
from tests.embedded.server.in_process_server import server

NAMESPACE = "/api/v1/namespaces/default"


@pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED)
def test_the_answer_is_that_of_kubernetes(tmp_path: Path, judged: Judged) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for path, body in judged.before:
                await ask.post(f"{NAMESPACE}{path}", body)
            reply = await ask("POST", f"{NAMESPACE}{judged.asked.path}", judged.asked.body)
            message = reply.json.get("message", "") if reply.code >= 400 else ""
            assert (reply.code, message) == (judged.code, message)
            assert judged.words in message

    asyncio.run(scenario())
