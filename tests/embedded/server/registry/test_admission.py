"""Admission: namespaces that are being deleted, and the service accounts of new pods."""

import asyncio
from pathlib import Path

from tests.embedded.server.in_process_server import PODS, Json, pod, server
from tests.embedded.server.rbac_setup import ACCOUNTS

NAMESPACES = "/api/v1/namespaces"


def test_a_new_namespace_has_its_default_account_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(NAMESPACES, {"metadata": {"name": "team"}})
            assert made["status"]["phase"] == "Active"
            account = await ask.get(f"{NAMESPACES}/team/serviceaccounts/default")
            assert account["metadata"]["namespace"] == "team"
            revisions = [int(one["metadata"]["resourceVersion"]) for one in (made, account)]
            assert revisions[1] == revisions[0] + 1

    asyncio.run(scenario())


def test_a_namespace_stays_until_its_last_finalizer_is_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(NAMESPACES, {"metadata": {"name": "team"}})
            leaving = await ask.delete(f"{NAMESPACES}/team")
            assert (leaving["kind"], leaving["status"]["phase"]) == ("Namespace", "Terminating")
            assert leaving["spec"]["finalizers"] == ["kubernetes"]
            leaving["spec"]["finalizers"] = []
            await ask.put(f"{NAMESPACES}/team", leaving)  # an ordinary update has no say in this
            leaving = await ask.get(f"{NAMESPACES}/team")
            assert leaving["spec"]["finalizers"] == ["kubernetes"]
            leaving["spec"]["finalizers"] = []
            await ask.put(f"{NAMESPACES}/team/finalize", leaving)
            await ask.refused(404, "NotFound", "GET", f"{NAMESPACES}/team")

    asyncio.run(scenario())


def test_a_finalized_namespace_that_is_not_deleted_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(NAMESPACES, {"metadata": {"name": "team"}})
            made["spec"]["finalizers"] = []
            await ask.put(f"{NAMESPACES}/team/finalize", made)
            assert (await ask.get(f"{NAMESPACES}/team"))["status"]["phase"] == "Active"
            assert (await ask.delete(f"{NAMESPACES}/team"))["status"] == "Success"

    asyncio.run(scenario())


def test_system_namespaces_cannot_be_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for name in ("default", "kube-system", "kube-public"):
                await ask.refused(403, "Forbidden", "DELETE", f"{NAMESPACES}/{name}")

    asyncio.run(scenario())


def test_finalizing_needs_the_right_namespace(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(NAMESPACES, {"metadata": {"name": "team"}})
            await ask.refused(400, "BadRequest", "PUT", f"{NAMESPACES}/default/finalize", made)
            await ask.refused(404, "NotFound", "PUT", f"{NAMESPACES}/none/finalize", {"metadata": {"name": "none"}})

    asyncio.run(scenario())


def test_the_status_of_a_namespace_is_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            assert (await ask.get(f"{NAMESPACES}/default/status"))["metadata"]["name"] == "default"

    asyncio.run(scenario())


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


def test_a_pod_without_automount_setting_takes_that_of_its_account(tmp_path: Path) -> None:
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
