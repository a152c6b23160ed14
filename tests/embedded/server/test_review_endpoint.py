"""Reviews: what may I do, who am I."""

import asyncio
from pathlib import Path

from tests.embedded.server.in_process_server import TOKEN, server


def test_reviews_are_answered_and_not_stored(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            before = ask.state.store.revision
            may = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
            path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
            assert (await ask.post(path, may))["status"]["allowed"]
            local = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
            assert (await ask.post(local, {"spec": {**may["spec"], "user": "admin"}}))["status"]["allowed"]
            me = await ask.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
            assert me["status"]["userInfo"]["username"] == "admin"
            tokens = "/apis/authentication.k8s.io/v1/tokenreviews"
            assert (await ask.post(tokens, {"spec": {"token": TOKEN}}))["status"]["authenticated"]
            assert not (await ask.post(tokens, {"spec": {"token": "made up"}}))["status"]["authenticated"]
            assert ask.state.store.revision == before
            await ask.refused(405, "MethodNotAllowed", "GET", path)
            await ask.refused(404, "NotFound", "POST", f"{path}/one", may)

    asyncio.run(scenario())
