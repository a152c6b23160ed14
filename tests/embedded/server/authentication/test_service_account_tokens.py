"""TokenRequests, the claims of a token, and how long it is valid."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.server.in_process_server import PODS, Json, Server, pod, server
from tests.embedded.server.rbac_setup import ACCOUNTS, As, account, pod_token, token
from understudy.embedded.server.authentication.service_account_tokens import ISSUER

WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
WHOSE = "/apis/authentication.k8s.io/v1/tokenreviews"


def play(path: Path, scenario: Callable[[Server], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with server(path) as ask:
            await account(ask)
            await scenario(ask)

    asyncio.run(whole())


def claims(held: str) -> Json:
    payload = held.split(".")[1]
    return msgspec.json.decode(base64.urlsafe_b64decode(payload + "=="))


def test_a_token_has_the_claims_of_kubernetes(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        made = await ask.post(PODS, pod("one", serviceAccountName="robot"))
        found = claims(await pod_token(ask, made, expirationSeconds=1200))
        assert found["sub"] == "system:serviceaccount:default:robot"
        assert (found["iss"], found["aud"]) == (ISSUER, [ISSUER])
        assert found["exp"] - found["iat"] == 1200
        owner = await ask.get(f"{ACCOUNTS}/robot")
        private = found["kubernetes.io"]
        assert private["namespace"] == "default"
        assert private["pod"] == {"name": "one", "uid": made["metadata"]["uid"]}
        assert private["serviceaccount"] == {"name": "robot", "uid": owner["metadata"]["uid"]}

    play(tmp_path, scenario)


def test_the_answer_is_a_token_request_with_its_expiration(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        answer = await ask.post(f"{ACCOUNTS}/robot/token", {"spec": {"audiences": None, "expirationSeconds": 600}})
        assert (answer["kind"], answer["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
        assert answer["status"]["expirationTimestamp"] == "2023-11-14T22:23:20Z"
        assert answer["spec"]["audiences"] == [ISSUER]

    play(tmp_path, scenario)


def test_a_self_subject_review_names_the_service_account(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        made = await ask.post(PODS, pod("one", serviceAccountName="robot"))
        held = await pod_token(ask, made)
        told = (await As(ask, held)("POST", WHO_AM_I, {})).json["status"]["userInfo"]
        assert told["username"] == "system:serviceaccount:default:robot"
        assert told["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
        assert told["extra"]["authentication.kubernetes.io/pod-name"] == ["one"]
        review = (await ask.post(WHOSE, {"spec": {"token": held}}))["status"]
        assert review == {"authenticated": True, "user": told, "audiences": [ISSUER]}

    play(tmp_path, scenario)


def test_a_token_for_another_audience_is_not_valid_here(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        held = await token(ask, audiences=["vault"])
        assert await As(ask, held).code("GET", "/api") == 401
        assert (await ask.post(WHOSE, {"spec": {"token": held}}))["status"]["authenticated"] is False
        review = (await ask.post(WHOSE, {"spec": {"token": held, "audiences": ["vault", "other"]}}))["status"]
        assert (review["authenticated"], review["audiences"]) == (True, ["vault"])

    play(tmp_path, scenario)


async def until_expired(ask: Server, _: Json) -> None:
    ask.clock.now += 3600


async def without_the_pod(ask: Server, _: Json) -> None:
    await ask.delete(f"{PODS}/one?gracePeriodSeconds=0")


async def with_another_pod_of_that_name(ask: Server, made: Json) -> None:
    await without_the_pod(ask, made)
    await ask.post(PODS, pod("one", serviceAccountName="robot"))


async def without_the_account(ask: Server, _: Json) -> None:
    await ask.delete(f"{ACCOUNTS}/robot")


async def with_another_account_of_that_name(ask: Server, made: Json) -> None:
    await without_the_account(ask, made)
    await account(ask)


@pytest.mark.parametrize(
    "event",
    [
        until_expired,
        without_the_pod,
        with_another_pod_of_that_name,
        without_the_account,
        with_another_account_of_that_name,
    ],
)
def test_a_token_ends_with_the_object_it_is_bound_to(
    tmp_path: Path, event: Callable[[Server, Json], Awaitable[None]]
) -> None:
    async def scenario(ask: Server) -> None:
        made = await ask.post(PODS, pod("one", serviceAccountName="robot"))
        robot = As(ask, await pod_token(ask, made))
        assert await robot.code("GET", "/api") == 200
        await event(ask, made)
        assert await robot.code("GET", "/api") == 401
        assert (await ask.post(WHOSE, {"spec": {"token": robot.token}}))["status"]["authenticated"] is False

    play(tmp_path, scenario)


def test_the_token_of_a_pod_is_valid_during_its_grace_period(tmp_path: Path) -> None:
    """Its last checkpoint is reported in this time."""

    async def scenario(ask: Server) -> None:
        made = await ask.post(PODS, pod("one", serviceAccountName="robot", nodeName="node-a"))
        robot = As(ask, await pod_token(ask, made))
        await ask.delete(f"{PODS}/one?gracePeriodSeconds=30")
        assert await robot.code("GET", "/api") == 200
        ask.clock.now += 30 + 59
        assert await robot.code("GET", "/api") == 200
        ask.clock.now += 2
        assert await robot.code("GET", "/api") == 401

    play(tmp_path, scenario)


def test_tokens_of_other_clusters_and_forged_ones_are_refused(tmp_path: Path) -> None:
    held: list[str] = []

    async def elsewhere(ask: Server) -> None:
        held.append(await token(ask))

    async def here(ask: Server) -> None:
        own = await token(ask)
        head, payload, signature = own.split(".")
        other = claims(own) | {"sub": "system:serviceaccount:kube-system:default"}
        forged = base64.urlsafe_b64encode(msgspec.json.encode(other)).rstrip(b"=").decode()
        unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
        for wrong in (
            held[0],
            f"{head}.{forged}.{signature}",
            f"{unsigned}.{payload}.",
            f"{head}.{payload}.",
            f"{head}.{payload}",
            "..",
            "a.b.c",
            f"{own}x",
            "." * 100,
        ):
            assert await As(ask, wrong).code("GET", "/api") == 401, wrong

    (tmp_path / "other").mkdir()
    play(tmp_path / "other", elsewhere)
    play(tmp_path, here)


def test_tokens_are_valid_after_a_restart_of_the_server(tmp_path: Path) -> None:
    held: list[str] = []

    async def before(ask: Server) -> None:
        held.append(await token(ask))

    async def after() -> None:
        async with server(tmp_path) as ask:
            assert await As(ask, held[0]).code("GET", "/api") == 200

    play(tmp_path, before)
    assert (tmp_path / "service-accounts.key").stat().st_mode & 0o777 == 0o600
    asyncio.run(after())


@pytest.mark.parametrize(
    ("spec", "code", "words"),
    [
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 1 << 33}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"expirationSeconds": "x"}, 400, "no TokenRequest"),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "n"}}, 400, "cannot bind token"),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "absent"}}, 404, "not found"),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "one", "uid": "x"}}, 409, "does not match"),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "two"}}, 400, "different serviceaccount"),
    ],
)
def test_an_invalid_token_request_is_refused(tmp_path: Path, spec: dict[str, Any], code: int, words: str) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(PODS, pod("one", serviceAccountName="robot"))
        await ask.post(PODS, pod("two"))
        reply = await ask("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
        assert reply.code == code
        assert words in reply.json["message"]

    play(tmp_path, scenario)


def test_a_token_of_a_missing_account_is_not_found(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.refused(404, "NotFound", "POST", f"{ACCOUNTS}/absent/token", {"spec": {}})
        await ask.refused(405, "MethodNotAllowed", "GET", f"{ACCOUNTS}/robot/token")

    play(tmp_path, scenario)
