"""A follower sees every change once and in order, whatever becomes of connections and servers."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.client.scripted_server import Request, Server, serving
from tests.client.tiny_api import Fault, TinyApi, crumble, cut, end, garble
from tests.eventually import eventually_async
from understudy.client import KubeClient
from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import Change, ChangeType, Refused

PATIENCE = 20.0  # seconds until a test gives up waiting for a change


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.reflector.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("understudy.client.reflector.LONGEST_PAUSE", 0.02)
    monkeypatch.setattr("understudy.client.reflector.SPREAD", 0.01)


class Watcher:
    """Reads what a follower tells, in words: `ADDED a 1`, with the object's name and the `n` of its spec."""

    def __init__(self, changes: AsyncIterator[Change]) -> None:
        self._changes = changes
        self.state: dict[str, Any] = {}

    async def next(self, count: int = 1) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            return [self._told(await anext(self._changes)) for _ in range(count)]

    def _told(self, change: Change) -> str:
        if change.type is ChangeType.SYNCED:
            return "SYNCED"
        document = msgspec.json.decode(change.raw)
        assert (document["apiVersion"], document["kind"]) == ("v1", "Pod")
        name = document["metadata"]["name"]
        if change.type is ChangeType.DELETED:
            assert name in self.state
            del self.state[name]
        else:
            assert (name in self.state) == (change.type is ChangeType.MODIFIED)
            self.state[name] = document["spec"].get("n")
        return f"{change.type} {name} {document['spec'].get('n')}"


def followed(use: Callable[[TinyApi, Server, Watcher], Awaitable[None]], **selection: Any) -> list[Request]:
    async def run() -> list[Request]:
        api = TinyApi()
        async with serving(api) as server, KubeClient(server.config(timeout=5.0), random.Random(0)) as client:
            changes = client.follow(PODS, **selection)
            await use(api, server, Watcher(changes))
            await changes.aclose()  # type: ignore[attr-defined]
            return server.requests

    return asyncio.run(run())


def lists(requests: list[Request]) -> int:
    return sum("watch" not in request.query for request in requests)


def test_what_there_is_then_the_news() -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        await api.put("a", n=1)
        assert await watcher.next(2) == ["ADDED a 1", "SYNCED"]
        await api.put("b", n=2)
        await api.put("a", n=3)
        await api.remove("a")
        assert await watcher.next(3) == ["ADDED b 2", "MODIFIED a 3", "DELETED a 3"]

    [listed, watched] = followed(use, namespace="team", labels="app in (x, y)", fields="spec.nodeName=n1")
    assert listed.path == watched.path == "/api/v1/namespaces/team/pods"
    for request in (listed, watched):
        assert request.query["labelSelector"] == "app in (x, y)"
        assert request.query["fieldSelector"] == "spec.nodeName=n1"
    assert watched.query["resourceVersion"] == "11"
    assert watched.query["allowWatchBookmarks"] == "true"


def test_an_empty_resource_is_synced_at_once() -> None:
    async def use(_api: TinyApi, _server: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]

    followed(use)


def test_a_long_list_is_read_in_pages() -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        for number in range(1200):
            await api.put(f"p{number:04}")
        told = await watcher.next(1201)
        assert told[-1] == "SYNCED"
        assert len(watcher.state) == 1200

    requests = followed(use)
    assert [request.query.get("continue") for request in requests][:3] == [None, "500", "1000"]


@pytest.mark.parametrize("fault", [cut, garble, crumble, end])
def test_a_watch_that_breaks_goes_on_where_it_was(fault: Fault) -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        await api.put("a", n=1)
        assert await watcher.next() == ["ADDED a 1"]
        api.faults.append(fault)
        await api.put("b", n=2)
        await api.put("c", n=3)
        assert await watcher.next(2) == ["ADDED b 2", "ADDED c 3"]

    assert lists(followed(use)) == 1


def test_a_server_killed_and_started_again_loses_no_object() -> None:
    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        for number in range(5):
            await server.kill()
            await api.put("a", n=number)
            await api.put(f"p{number}", n=number)
            await server.start()
            assert (await watcher.next(2))[1] == f"ADDED p{number} {number}"

    assert lists(followed(use)) == 1


def test_a_server_that_is_not_up_yet_is_waited_for() -> None:
    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        await server.kill()
        first = asyncio.create_task(watcher.next(2))
        await asyncio.sleep(0.03)
        await api.put("a", n=1)
        await server.start()
        assert await first == ["ADDED a 1", "SYNCED"]

    followed(use)


def test_a_lost_place_is_made_good_by_a_new_list() -> None:
    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        for name in ("changed", "gone", "replaced", "same"):
            await api.put(name, n=1)
        await watcher.next(5)
        await server.kill()
        await api.put("changed", n=2)
        await api.remove("gone")
        await api.remove("replaced")
        await api.put("replaced", uid="another", n=2)
        await api.put("new", n=2)
        api.forget()
        await server.start()
        api.oldest = api.revision
        told = await watcher.next(5)
        assert sorted(told) == [
            "ADDED new 2",
            "ADDED replaced 2",
            "DELETED gone 1",
            "DELETED replaced 1",
            "MODIFIED changed 2",
        ]
        assert told.index("DELETED replaced 1") < told.index("ADDED replaced 2")
        await api.put("after", n=3)
        assert await watcher.next() == ["ADDED after 3"]  # and no second SYNCED

    assert lists(followed(use)) == 2


def test_a_place_lost_while_watching_is_told_by_an_error_in_the_stream() -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        api.forget()
        await api.put("a", n=1)
        assert await watcher.next() == ["ADDED a 1"]

    assert lists(followed(use)) == 2


def test_a_bookmark_moves_the_place_without_a_word() -> None:
    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        api.revision = 77  # what happened meanwhile was none of this watch's business
        await api.bookmark()
        await api.put("a", n=1)
        assert await watcher.next() == ["ADDED a 1"]
        await server.kill()
        api.oldest = 77
        await api.put("b", n=2)
        await server.start()
        assert await watcher.next() == ["ADDED b 2"]

    requests = followed(use)
    assert lists(requests) == 1
    assert requests[-1].query["resourceVersion"] == "78"


def test_a_list_that_expires_between_pages_starts_again_and_tells_nothing_twice() -> None:
    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        api.page_size = 2
        for name in "abc":
            await api.put(name, n=1)
        assert await watcher.next(2) == ["ADDED a 1", "ADDED b 1"]
        api.refusals.append(410)
        await api.remove("a")
        assert sorted(await watcher.next(3)) == ["ADDED c 1", "DELETED a 1", "SYNCED"]
        assert lists(server.requests) == 3

    followed(use)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(code: int) -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        api.refusals += [code, code]
        assert await watcher.next() == ["SYNCED"]
        await api.put("a", n=1)
        assert await watcher.next() == ["ADDED a 1"]

    followed(use)


@pytest.mark.parametrize("code", [401, 403, 404])
def test_what_may_not_be_seen_or_is_not_there_is_said_to_the_caller(code: int) -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        api.refusals.append(code)
        with pytest.raises(Refused) as caught:
            await watcher.next()
        assert caught.value.code == code

    followed(use)


def test_a_line_of_many_megabytes_is_one_change() -> None:
    async def use(api: TinyApi, _: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        await api.put("big", n=1, blob="x" * 5_000_000)
        await api.put("small", n=2)
        assert await watcher.next(2) == ["ADDED big 1", "ADDED small 2"]

    followed(use)


def test_a_quiet_watch_is_opened_anew_and_so_the_picture_stays_young() -> None:
    async def run() -> None:
        api = TinyApi()
        config: dict[str, Any] = {"timeout": 5.0, "silence": 0.05}
        async with serving(api) as server, KubeClient(server.config(**config), random.Random(0)) as client:
            changes = client.follow(PODS)
            watcher = Watcher(changes)
            assert await watcher.next() == ["SYNCED"]
            news = asyncio.create_task(watcher.next())
            await eventually_async(lambda: len(server.requests) >= 5)
            assert client.age() < 1.0
            await api.put("a", n=1)
            assert await news == ["ADDED a 1"]
            await changes.aclose()  # type: ignore[attr-defined]
            assert lists(server.requests) == 1
            assert client.age() == 0.0  # nothing is followed any more

    asyncio.run(run())


def test_the_picture_grows_old_while_the_server_is_away() -> None:
    async def use(_: TinyApi, server: Server, watcher: Watcher) -> None:
        assert await watcher.next() == ["SYNCED"]
        news = asyncio.create_task(watcher.next())
        await eventually_async(lambda: len(server.requests) == 2)
        await server.kill()
        await asyncio.sleep(0.2)
        assert client[0].age() >= 0.2
        news.cancel()

    client: list[KubeClient] = []

    async def run() -> None:
        async with serving(api := TinyApi()) as server, KubeClient(server.config(timeout=5.0)) as made:
            client.append(made)
            changes = made.follow(PODS)
            await use(api, server, Watcher(changes))

    asyncio.run(run())


def faults_of(chance: random.Random) -> Iterator[Fault]:
    while True:
        yield chance.choice([cut, garble, crumble, end])


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_missed_in_a_storm_of_faults(seed: int) -> None:
    """Every state of every object is told, in order, as long as the server remembers; and the end is always right."""

    async def use(api: TinyApi, server: Server, watcher: Watcher) -> None:
        chance = random.Random(seed)
        assert await watcher.next() == ["SYNCED"]
        fault = faults_of(chance)
        told: list[str] = []
        for step in range(120):
            name = chance.choice("abcdef")
            if chance.random() < 0.3 and name in api.objects:
                await api.remove(name)
            else:
                await api.put(name, n=step)
            if chance.random() < 0.15:
                api.faults.append(next(fault))
            if chance.random() < 0.08:
                await server.kill()
                await server.start()
            if chance.random() < 0.3:
                told += await watcher.next()
        expected = [f"{e.kind} {e.document['metadata']['name']} {e.document['spec']['n']}" for e in api.log]
        told += await watcher.next(len(expected) - len(told))
        assert told == expected
        assert watcher.state == {name: document["spec"]["n"] for name, document in api.objects.items()}

    assert lists(followed(use)) == 1


class Objects:
    """Reads what a follower tells who asked for objects: `ADDED a`, and `as text` where it got no object."""

    def __init__(self, changes: AsyncIterator[Change]) -> None:
        self._changes = changes

    async def next(self, count: int = 1) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            return [self._told(await anext(self._changes)) for _ in range(count)]

    def _told(self, change: Change) -> str:
        if change.type is ChangeType.SYNCED:
            return "SYNCED"
        if change.obj is not None:
            assert not change.raw
            assert isinstance(change.obj, Pod)
            return f"{change.type} {change.obj.metadata.name}"
        document = msgspec.json.decode(change.raw)
        assert (document["apiVersion"], document["kind"]) == ("v1", "Pod")
        return f"{change.type} {document['metadata']['name']} as text: {sorted(document)}"


def asked_for_objects(use: Callable[[TinyApi, Server, Objects], Awaitable[None]]) -> None:
    async def run() -> None:
        api = TinyApi()
        async with serving(api) as server, KubeClient(server.config(timeout=5.0), random.Random(0)) as client:
            changes = client.follow(PODS, decoded=True)
            await use(api, server, Objects(changes))
            await changes.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


SPEC: dict[str, Any] = {"containers": [{"name": "main"}]}
WHOLE, BARE = ["apiVersion", "kind", "metadata", "spec"], ["apiVersion", "kind", "metadata"]


def test_objects_are_told_decoded_from_lists_and_watches() -> None:
    async def use(api: TinyApi, _: Server, told: Objects) -> None:
        await api.put("a", **SPEC)
        assert await told.next(2) == ["ADDED a", "SYNCED"]
        await api.put("b", **SPEC)
        await api.put("a", **SPEC)
        await api.bookmark()
        await api.remove("a")
        assert await told.next(3) == ["ADDED b", "MODIFIED a", "DELETED a"]

    asked_for_objects(use)


def test_what_cannot_be_decoded_is_told_as_text_with_those_beside_it() -> None:
    async def use(api: TinyApi, _: Server, told: Objects) -> None:
        await api.put("bad", containers=[])
        await api.put("good", **SPEC)
        listed = [f"ADDED bad as text: {WHOLE}", f"ADDED good as text: {WHOLE}", "SYNCED"]
        assert await told.next(3) == listed
        await api.put("good", nodeName="n1", **SPEC)
        await api.put("bad", containers=[], nodeName="n1")
        assert await told.next(2) == ["MODIFIED good", f"MODIFIED bad as text: {WHOLE}"]

    asked_for_objects(use)


def test_of_objects_that_went_unseen_only_the_name_is_told() -> None:
    """A caller that asked for decoded objects keeps them: their text is not kept here."""

    async def use(api: TinyApi, server: Server, told: Objects) -> None:
        for name in ("gone", "replaced", "same"):
            await api.put(name, **SPEC)
        await told.next(4)
        await server.kill()
        await api.remove("gone")
        await api.remove("replaced")
        await api.put("replaced", uid="another", **SPEC)
        api.forget()
        await server.start()
        api.oldest = api.revision
        heard = await told.next(3)
        assert sorted(heard) == [
            "ADDED replaced",
            f"DELETED gone as text: {BARE}",
            f"DELETED replaced as text: {BARE}",
        ]

    asked_for_objects(use)
