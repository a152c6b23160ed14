"""PATCH in its four forms."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.server.in_process_server import (
    APPLY,
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    config_map,
    pod,
    server,
)


@pytest.mark.parametrize(
    ("content_type", "patch", "labels"),
    [
        (MERGE, {"metadata": {"labels": {"b": "2", "a": None}}}, {"b": "2"}),
        (STRATEGIC, {"metadata": {"labels": {"b": "2"}}}, {"a": "1", "b": "2"}),
        (JSON_PATCH, [{"op": "replace", "path": "/metadata/labels/a", "value": "9"}], {"a": "9"}),
    ],
)
def test_each_form_of_patch_changes_the_object(
    tmp_path: Path, content_type: str, patch: Any, labels: dict[str, str]
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one", labels={"a": "1"}))
            assert (await ask.patch(f"{PODS}/one", patch, content_type))["metadata"]["labels"] == labels

    asyncio.run(scenario())


def test_lists_are_merged_by_key_in_strategic_patches_of_status(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            for kind in ("Ready", "Initialized"):
                patch = {"status": {"conditions": [{"type": kind, "status": "True"}]}}
                changed = await ask.patch(f"{PODS}/one/status", patch, STRATEGIC)
            kinds = {condition["type"] for condition in changed["status"]["conditions"]}
            assert {"Ready", "Initialized"} <= kinds

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("content_type", "patch", "code", "reason"),
    [
        ("application/json", {}, 415, "UnsupportedMediaType"),
        ("text/plain", {}, 415, "UnsupportedMediaType"),
        (MERGE, b"{", 400, "BadRequest"),
        (MERGE, b"[" * 100_000, 400, "BadRequest"),
        (MERGE, [1], 400, "BadRequest"),
        (MERGE, {"metadata": {"labels": 5}}, 400, "BadRequest"),
        (MERGE, {"metadata": {"resourceVersion": "1"}}, 409, "Conflict"),
        (MERGE, {"metadata": {"name": "other"}}, 400, "BadRequest"),
        (MERGE, {"metadata": {"uid": "other"}}, 409, "Conflict"),
        (MERGE, {"metadata": {"labels": {"a": "?"}}}, 422, "Invalid"),
        (JSON_PATCH, [{"op": "test", "path": "/data/a", "value": "other"}], 422, "Invalid"),
        (JSON_PATCH, {"op": "add"}, 400, "BadRequest"),
    ],
)
def test_patches_that_do_not_apply_are_refused_and_change_nothing(
    tmp_path: Path, content_type: str, patch: Any, code: int, reason: str
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one", a="1"))
            await ask.refused(code, reason, "PATCH", f"{CONFIG_MAPS}/one", patch, content_type=content_type)
            assert await ask.get(f"{CONFIG_MAPS}/one") == made

    asyncio.run(scenario())


def test_an_unsupported_patch_type_is_answered_with_the_accepted_ones(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            status = await ask.refused(
                415, "UnsupportedMediaType", "PATCH", f"{CONFIG_MAPS}/one", {}, content_type="text/plain"
            )
            assert STRATEGIC in status["message"]
            await ask.refused(404, "NotFound", "PATCH", f"{CONFIG_MAPS}/one", {}, content_type=MERGE)

    asyncio.run(scenario())


def test_apply_creates_missing_objects_and_records_owners(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            text = b"apiVersion: v1\nkind: ConfigMap\ndata: {a: '1', b: '1'}\n"
            made = await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=me", text, APPLY)
            assert made["data"] == {"a": "1", "b": "1"}
            assert made["metadata"]["managedFields"][0]["manager"] == "me"
            again = await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=me", config_map("one", a="1", b="1"), APPLY)
            assert again == made
            fewer = await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=me", config_map("one", a="2"), APPLY)
            assert fewer["data"] == {"a": "2"}

    asyncio.run(scenario())


def test_applying_the_same_configuration_again_writes_nothing(tmp_path: Path) -> None:
    """Nor does what becomes the same once it is stored: 1000m of a CPU is 1."""

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}
            given = pod("one", containers=[container]) | {"apiVersion": "v1", "kind": "Pod"}
            made = await ask.patch(f"{PODS}/one?fieldManager=me", given, APPLY)
            assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}
            ask.clock.now += 60
            assert await ask.patch(f"{PODS}/one?fieldManager=me", given, APPLY) == made

    asyncio.run(scenario())


def test_each_path_applies_only_its_own_fields(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            given = pod("one") | {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
            made = await ask.patch(f"{PODS}/one?fieldManager=me", given, APPLY)
            assert made["status"]["phase"] == "Pending"
            assert ["f:status" in entry["fieldsV1"] for entry in made["metadata"]["managedFields"]] == [False]
            told = await ask.patch(f"{PODS}/one/status?fieldManager=agent", given, APPLY)
            assert told["status"]["phase"] == "Running"
            owners = {entry["manager"]: set(entry["fieldsV1"]) for entry in told["metadata"]["managedFields"]}
            assert owners == {"me": {"f:spec"}, "agent": {"f:status"}}

    asyncio.run(scenario())


def test_applied_fields_of_others_are_conflicts_unless_forced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=me", config_map("one", a="1"), APPLY)
            taken = config_map("one", a="2")
            status = await ask.refused(
                409, "Conflict", "PATCH", f"{CONFIG_MAPS}/one?fieldManager=you", taken, content_type=APPLY
            )
            assert status["details"]["causes"][0]["reason"] == "FieldManagerConflict"
            forced = await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=you&force=true", taken, APPLY)
            assert forced["data"] == {"a": "2"}

    asyncio.run(scenario())


def test_an_ordinary_write_owns_the_fields_it_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=me", config_map("one", a="1"), APPLY)
            await ask.patch(f"{CONFIG_MAPS}/one?fieldManager=other", {"data": {"a": "2"}}, MERGE)
            status = await ask.refused(
                409,
                "Conflict",
                "PATCH",
                f"{CONFIG_MAPS}/one?fieldManager=me",
                config_map("one", a="1"),
                content_type=APPLY,
            )
            assert '"other"' in status["message"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("query", "body", "code", "reason"),
    [
        ("", config_map("one"), 422, "Invalid"),
        ("?fieldManager=me", config_map("two"), 400, "BadRequest"),
        ("?fieldManager=me", [1], 400, "BadRequest"),
        ("?fieldManager=me", {"metadata": 3}, 400, "BadRequest"),
        ("?fieldManager=" + "m" * 200, config_map("one"), 422, "Invalid"),
        ("?fieldManager=me", b"a: &x [*x]\n", 400, "BadRequest"),
        ("?fieldManager=me", b"{" * 3000 + b"'", 400, "BadRequest"),
        ("?fieldManager=me", b"- " * 3000 + b"x", 400, "BadRequest"),
    ],
)
def test_invalid_configurations_are_not_applied(tmp_path: Path, query: str, body: Any, code: int, reason: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(code, reason, "PATCH", f"{CONFIG_MAPS}/one{query}", body, content_type=APPLY)
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/one")

    asyncio.run(scenario())


@pytest.mark.parametrize("metadata", [2147483647, "one", [{}], True])
def test_invalid_metadata_is_refused_for_existing_objects_too(tmp_path: Path, metadata: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for name in ("one", "two"):
                body, url = {**config_map(name), "metadata": metadata}, f"{CONFIG_MAPS}/{name}?fieldManager=me"
                status = await ask.refused(400, "BadRequest", "PATCH", url, body, content_type=APPLY)
                assert status["message"] == "metadata: must be an object"
                await ask.patch(url.replace("one", "two"), config_map("two"), APPLY)

    asyncio.run(scenario())


def test_the_status_of_a_missing_object_cannot_be_applied(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            url = f"{PODS}/one/status?fieldManager=me"
            await ask.refused(404, "NotFound", "PATCH", url, pod("one"), content_type=APPLY)

    asyncio.run(scenario())


JOB: Any = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}},
}
CLAIM: Any = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": JOB["spec"]["template"]["spec"]}


@pytest.mark.parametrize(
    ("path", "document", "later"),
    [
        ("/apis/batch/v1/namespaces/default/jobs", JOB, {"spec": {"suspend": True}}),
        ("/api/v1/namespaces/default/persistentvolumeclaims", CLAIM, {"spec": {"volumeName": "v"}}),
        (PODS, POD, {"metadata": {"labels": {"seen": "yes"}}}),
    ],
    ids=["Job", "PersistentVolumeClaim", "Pod"],
)
def test_what_kubectl_applied_on_the_clients_side_may_be_applied_by_the_server_again_and_again(
    tmp_path: Path, path: str, document: dict[str, Any], later: dict[str, Any]
) -> None:
    """kubectl takes the fields of the manager that owns its annotation for its own."""

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            config = {**document, "metadata": {"name": "one", "labels": {"app": "x"}}}
            annotations = {"kubectl.kubernetes.io/last-applied-configuration": msgspec.json.encode(config).decode()}
            made = await ask.post(path, {**config, "metadata": {**config["metadata"], "annotations": annotations}})
            await ask.patch(f"{path}/one", later, MERGE)
            first = await ask.patch(f"{path}/one?fieldManager=kubectl", config, APPLY)
            owners = {entry["manager"]: entry for entry in first["metadata"]["managedFields"]}
            assert set(owners) == {"kubectl", "kubectl-last-applied", "before-first-apply"}
            assert msgspec.json.encode(owners["before-first-apply"]["fieldsV1"]).count(b"{}") <= 2  # status and `later`
            assert (await ask.patch(f"{path}/one?fieldManager=kubectl", config, APPLY)) == first
            changed = {**config, "metadata": {"name": "one", "labels": {"app": "y"}}}
            second = await ask.patch(f"{path}/one?fieldManager=kubectl", changed, APPLY)
            assert second["metadata"]["labels"]["app"] == "y"
            assert {**made["spec"], **later.get("spec", {})} == second["spec"]
            kept = second["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
            assert msgspec.json.decode(kept) == changed

    asyncio.run(scenario())
