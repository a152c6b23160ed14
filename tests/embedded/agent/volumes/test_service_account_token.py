"""Tokens of pods: requested once, reused while valid, replaced in time, and never shared between pods."""

import asyncio
import base64
import itertools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from tests.embedded.agent.pods.test_warm_start import GPUS, member, understudy
from tests.eventually import eventually_async
from understudy.embedded.agent.api.pod_types import (
    Container,
    Pod,
    PodMetadata,
    PodSpec,
    ProjectedVolume,
    TokenProjection,
    Volume,
    VolumeProjection,
)
from understudy.embedded.agent.volumes.service_account_token import (
    SERVICE_ACCOUNT_TOKEN,
    IssuedToken,
    SharedToken,
    TokenManager,
    adopt_tokens,
    token_paths,
    write_service_account,
)
from understudy.embedded.shim.pod_folders import PodFolder
from understudy.ports import Refused


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Numbered:
    """A source whose tokens contain a running number."""

    binds = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self.refusing = False
        self.asked = asyncio.Event()

    async def issue(self, pod: Pod, wanted: TokenProjection) -> IssuedToken:
        self.asked.set()
        if self.refusing:
            raise Refused(404, "NotFound", "serviceaccounts not found")
        begins = self._clock()
        claims = {
            "iat": begins,
            "exp": begins + wanted.expiration_seconds,
            "n": next(self._numbers),
            "kubernetes.io": {"pod": {"uid": pod.metadata.uid}},
        }
        words = base64.urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
        return IssuedToken(f"head.{words}.signature", begins, begins + wanted.expiration_seconds)


def number(path: Path) -> int:
    words = path.read_text().split(".")[1]
    return int(msgspec.json.decode(base64.urlsafe_b64decode(words + "=="))["n"])


def a_pod(uid: str = "u-1", *volumes: Volume) -> Pod:
    return Pod(PodMetadata("one", "team", uid), PodSpec((Container("main"),), volumes=volumes))


Scenario = Callable[[TokenManager, Numbered, Clock], Awaitable[None]]


def rehearse(scenario: Scenario) -> None:
    async def whole() -> None:
        clock = Clock()
        source = Numbered(clock)
        token_manager = TokenManager(source, clock)
        task = asyncio.create_task(token_manager.run())
        try:
            await scenario(token_manager, source, clock)
        finally:
            task.cancel()

    asyncio.run(whole())


def test_a_pod_finds_what_client_libraries_look_for(tmp_path: Path) -> None:
    async def scenario(token_manager: TokenManager, _: Numbered, __: Clock) -> None:
        folder = PodFolder(tmp_path)
        await write_service_account(token_manager, a_pod(), folder, b"authority")
        assert (folder.account / "ca.crt").read_bytes() == b"authority"
        assert (folder.account / "namespace").read_text() == "team"
        assert (folder.account / "token").stat().st_mode & 0o777 == 0o600

    rehearse(scenario)


def test_a_token_is_used_again_while_it_lasts_and_never_by_another_pod(tmp_path: Path) -> None:
    async def scenario(token_manager: TokenManager, _: Numbered, clock: Clock) -> None:
        folder = PodFolder(tmp_path)
        token = folder.account / "token"
        for seconds, pod, expected in [(0, "u-1", 1), (600, "u-1", 1), (3000, "u-1", 2), (0, "u-2", 3)]:
            clock.now += seconds
            token_manager.forget("u-1")
            await write_service_account(token_manager, a_pod(pod), folder, b"")
            assert number(token) == expected

    rehearse(scenario)


def test_a_token_is_replaced_before_it_expires(tmp_path: Path) -> None:
    async def scenario(token_manager: TokenManager, source: Numbered, clock: Clock) -> None:
        folder = PodFolder(tmp_path)
        pod = a_pod()
        await write_service_account(token_manager, pod, folder, b"")
        token = folder.account / "token"
        clock.now += SERVICE_ACCOUNT_TOKEN.expiration_seconds * 0.81
        token_manager.adopt(
            a_pod("u-9"), SERVICE_ACCOUNT_TOKEN, tmp_path / "none"
        )  # no file; the manager reads the clock again
        await token_manager.obtain(a_pod("u-2"), SERVICE_ACCOUNT_TOKEN, tmp_path / "other")
        await eventually_async(lambda: number(token) == 3)
        token_manager.forget("u-1")
        clock.now += SERVICE_ACCOUNT_TOKEN.expiration_seconds
        source.asked.clear()
        await token_manager.obtain(a_pod("u-3"), SERVICE_ACCOUNT_TOKEN, tmp_path / "another")
        await eventually_async(source.asked.is_set)
        assert number(token) == 3

    rehearse(scenario)


def test_tokens_of_an_earlier_agent_are_renewed(tmp_path: Path) -> None:
    source = TokenProjection("vault", "vault", 7200)
    volume = Volume("tokens", projected=ProjectedVolume((VolumeProjection(service_account_token=source),)))
    pod, folder = a_pod("u-1", volume), PodFolder(tmp_path)

    async def scenario(token_manager: TokenManager, source: Numbered, clock: Clock) -> None:
        for wanted, path in token_paths(pod, folder):
            path.parent.mkdir(parents=True)
            path.write_text((await source.issue(pod, wanted)).token)
        (folder.account / "ca.crt").write_bytes(b"old")
        clock.now += 3600
        adopt_tokens(token_manager, pod, folder, b"new")
        assert (folder.account / "ca.crt").read_bytes() == b"new"
        await eventually_async(lambda: number(folder.account / "token") == 3)  # a token of one hour, which had expired
        assert number(folder.volumes / "tokens" / "vault") == 2  # a token of two hours, with one left

    rehearse(scenario)


def test_a_shared_token_replaces_an_existing_one(tmp_path: Path) -> None:
    async def scenario(token_manager: TokenManager, _: Numbered, __: Clock) -> None:
        folder = PodFolder(tmp_path)
        await write_service_account(token_manager, a_pod(), folder, b"")
        shared = TokenManager(SharedToken("of-all"), Clock())
        await write_service_account(shared, a_pod(), folder, b"")
        assert (folder.account / "token").read_text() == "of-all"

    rehearse(scenario)


class Named:
    """A source whose tokens are the names of pods."""

    binds = True

    async def issue(self, pod: Pod, _: TokenProjection) -> IssuedToken:
        return IssuedToken(pod.metadata.name)


def test_an_activated_understudy_has_the_token_of_the_member(tmp_path: Path) -> None:
    place = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    code = f"print(open({place!r}).read(), flush=True); import time; time.sleep(3600)"

    async def scenario(world: AgentWorld) -> None:
        await world.stop_agent()
        world.tokens = Named()
        await world.start_agent()
        held_as = await understudy(world, sys.executable, "-c", code)
        uid = await member(world, held_as, sys.executable, "-c", code)
        assert (await world.logged(uid, "\n")).split() == ["member"]

    run_scenario(tmp_path, scenario, **GPUS)


def test_client_libraries_find_the_service_account(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        place = "/var/run/secrets/kubernetes.io/serviceaccount"
        (world.folder.path / "ca.crt").write_text("ignored")
        tells = f"cat {place}/token {place}/namespace; echo; touch {place}/x 2>/dev/null || echo read-only"
        uid = await world.run_pod("one", tells)
        shy = await world.run_pod("two", f"ls {place}", automountServiceAccountToken=False)
        for name in ("one", "two"):
            await world.phase(name, "Succeeded", "Failed")
        assert await world.log(uid) == "secretdefault\nread-only\n"
        assert "token" not in await world.log(shy)

    run_scenario(tmp_path, scenario)
