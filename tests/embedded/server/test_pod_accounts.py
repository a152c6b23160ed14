"""Pods and their service accounts."""

import asyncio
from pathlib import Path

from tests.embedded.server.accounts import ACCOUNTS
from tests.embedded.server.calling import PODS, Json, pod, server


def test_a_pod_needs_its_service_account(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            refused = await ask.refused(403, "Forbidden", "POST", PODS, pod("a", serviceAccountName="robot"))
            assert refused["message"] == (
                'pods "a" is forbidden: error looking up service account default/robot: '
                'serviceaccount "robot" not found'
            )
            await ask.post(ACCOUNTS, {"metadata": {"name": "robot"}})
            await ask.post(PODS, pod("a", serviceAccountName="robot"))
            await ask.post("/api/v1/namespaces", {"metadata": {"name": "new"}})
            await ask.post("/api/v1/namespaces/new/pods", pod("a"))

    asyncio.run(scenario())


def test_an_account_says_whether_its_pods_get_a_token_unless_they_do(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(ACCOUNTS, {"metadata": {"name": "quiet"}, "automountServiceAccountToken": False})
            cases: list[tuple[str, Json, bool | None]] = [
                ("a", {"serviceAccountName": "quiet"}, False),
                ("b", {"serviceAccountName": "quiet", "automountServiceAccountToken": True}, True),
                ("c", {"automountServiceAccountToken": False}, False),
                ("d", {}, None),
            ]
            for name, given, stored in cases:
                made = await ask.post(PODS, pod(name, **given))
                assert made["spec"].get("automountServiceAccountToken") is stored, name

    asyncio.run(scenario())
