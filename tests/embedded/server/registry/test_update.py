"""PUT: conflicts, immutable fields, the end of a deletion."""

import asyncio
from pathlib import Path

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, MERGE, PODS, Json, config_map, pod, server


def test_an_update_replaces_and_has_a_new_revision(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            changed = await ask.put(f"{CONFIG_MAPS}/one", made | {"data": {"b": "2"}})
            assert changed["data"] == {"b": "2"}
            assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
            assert changed["metadata"]["uid"] == made["metadata"]["uid"]
            assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]

    asyncio.run(scenario())


def test_an_update_from_an_older_state_is_a_conflict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            replies = await asyncio.gather(
                *(ask("PUT", f"{CONFIG_MAPS}/one", made | {"data": {"a": str(n)}}) for n in range(2, 6))
            )
            assert sorted(reply.code for reply in replies) == [200, 409, 409, 409]
            status = await ask.refused(409, "Conflict", "PUT", f"{CONFIG_MAPS}/one", made | {"data": {"a": "9"}})
            assert "the object has been modified" in status["message"]
            assert status["details"] == {"name": "one", "kind": "configmaps"}

    asyncio.run(scenario())


def test_an_update_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            before = ask.state.store.revision
            assert await ask.put(f"{PODS}/one", made) == made
            assert ask.state.store.revision == before

    asyncio.run(scenario())


def test_without_a_revision_the_last_writer_wins_where_kubernetes_lets_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            assert (await ask.put(f"{CONFIG_MAPS}/one", config_map("one", a="2")))["data"] == {"a": "2"}
            leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
            lease = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "me"}}
            await ask.post(leases, lease)
            status = await ask.refused(422, "Invalid", "PUT", f"{leases}/mine", lease)
            assert status["details"]["causes"][0]["field"] == "metadata.resourceVersion"

    asyncio.run(scenario())


def test_revision_zero_asks_for_none(tmp_path: Path) -> None:
    def at_zero(document: Json) -> Json:
        return {**document, "metadata": {**document["metadata"], "resourceVersion": "0"}}

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, at_zero(config_map("one", a="1")))
            changed = await ask.put(f"{CONFIG_MAPS}/one", at_zero(config_map("one", a="2")))
            assert (changed["data"], changed["metadata"]["resourceVersion"] != "0") == ({"a": "2"}, True)
            changed = await ask.patch(f"{CONFIG_MAPS}/one", at_zero({"metadata": {}, "data": {"a": "3"}}))
            assert changed["data"] == {"a": "3"}
            leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
            lease = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "me"}}
            await ask.post(leases, lease)
            for verb, given in (("PUT", {}), ("PATCH", {"content_type": MERGE})):
                status = await ask.refused(422, "Invalid", verb, f"{leases}/mine", at_zero(lease), **given)
                assert status["details"]["causes"][0]["message"] == "Invalid value: 0: must be specified for an update"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        ({"name": "other"}, 400, "BadRequest"),
        ({"name": ""}, 400, "BadRequest"),
        ({"namespace": "other"}, 400, "BadRequest"),
        ({"uid": "of-another"}, 409, "Conflict"),
    ],
)
def test_the_object_must_be_the_one_at_the_path(tmp_path: Path, change: dict[str, str], code: int, reason: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            made["metadata"] |= change
            await ask.refused(code, reason, "PUT", f"{CONFIG_MAPS}/one", made)
            assert (await ask.get(f"{CONFIG_MAPS}/one"))["data"] == {"a": "1"}

    asyncio.run(scenario())


def test_an_update_creates_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(404, "NotFound", "PUT", f"{CONFIG_MAPS}/one", config_map("one"))

    asyncio.run(scenario())


def test_spec_and_status_are_written_apart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            made["status"]["phase"] = "Running"
            made["metadata"]["labels"] = {"a": "b"}
            spec_only = await ask.put(f"{PODS}/one", made)
            assert (spec_only["status"]["phase"], spec_only["metadata"]["labels"]) == ("Pending", {"a": "b"})
            spec_only["status"]["phase"] = "Running"
            spec_only["spec"]["activeDeadlineSeconds"] = 5
            status_only = await ask.put(f"{PODS}/one/status", spec_only)
            assert status_only["status"]["phase"] == "Running"
            assert "activeDeadlineSeconds" not in status_only["spec"]
            assert (await ask.get(f"{PODS}/one/status"))["status"]["phase"] == "Running"

    asyncio.run(scenario())


def test_a_change_of_an_immutable_field_is_invalid(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            made["spec"]["containers"][0]["command"] = ["other"]
            await ask.refused(422, "Invalid", "PUT", f"{PODS}/one", made)

    asyncio.run(scenario())


def test_a_dry_run_of_an_update_stores_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            shown = await ask.put(f"{CONFIG_MAPS}/one?dryRun=All", made | {"data": {"a": "2"}})
            assert shown["data"] == {"a": "2"}
            assert await ask.get(f"{CONFIG_MAPS}/one") == made

    asyncio.run(scenario())
