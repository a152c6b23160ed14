"""One watch for many subscribers: each gets every change once, own writes first; deleted objects do not come back."""

import asyncio

import msgspec
import pytest

from tests.embedded.controllers.controller_runner import run_scenario
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, pod
from understudy.embedded.controllers.runtime.informer import VERIFY_AFTER
from understudy.embedded.controllers.runtime.object_version import ObjectChange
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.objects.resources import EVENTS, MPI_JOBS, MPI_JOBS_V1, PODS
from understudy.ports import ChangeType, PatchForm, Ref, Refused


class RecordingSubscriber:
    """What was heard, as `TYPE name`."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, change: ObjectChange) -> None:
        name = msgspec.json.decode(change.raw)["metadata"]["name"] if change.raw else ""
        self.heard.append(f"{change.type} {name}".strip())


def plain(name: str) -> Document:
    return pod(name, meta={"namespace": "default"})


def test_every_subscriber_gets_all_objects_and_then_all_changes() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, plain("a"))
        async with SharedCluster(api, api.clock) as cluster:
            early, late = RecordingSubscriber(), RecordingSubscriber()
            cluster.subscribe(PODS, early)
            await quiet()
            api.put(PODS, plain("b"))
            await quiet()
            cluster.subscribe(PODS, late)
            api.remove(PODS, "a")
            await quiet()
            assert early.heard == ["ADDED a", "SYNCED", "ADDED b", "DELETED a"]
            assert late.heard == ["ADDED a", "ADDED b", "SYNCED", "DELETED a"]

    run_scenario(scenario)


def test_one_watch_serves_them_all() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            for _ in range(5):
                cluster.subscribe(PODS, RecordingSubscriber())
            await quiet()
            assert api.watches(PODS) == 1

    run_scenario(scenario)


def test_what_was_written_is_there_when_the_answer_is() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            subscriber = RecordingSubscriber()
            cluster.subscribe(PODS, subscriber)
            await quiet()
            with api.held():
                await cluster.create(Ref(PODS, "default"), plain("a"))
                await cluster.patch(
                    Ref(PODS, "default", "a"), {"metadata": {"labels": {"x": "y"}}}, form=PatchForm.MERGE
                )
                assert subscriber.heard == ["SYNCED", "ADDED a", "MODIFIED a"]
            await quiet()
            assert subscriber.heard == ["SYNCED", "ADDED a", "MODIFIED a"]

    run_scenario(scenario)


def test_a_late_answer_does_not_bring_the_deleted_back() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            subscriber = RecordingSubscriber()
            cluster.subscribe(PODS, subscriber)
            await quiet()
            creating = asyncio.create_task(cluster.create(Ref(PODS, "default"), plain("a")))
            while not api.names(PODS):
                await asyncio.sleep(0)
            api.remove(PODS, "a")
            await creating
            await quiet()
            assert subscriber.heard[-1] == "DELETED a" or subscriber.heard == ["SYNCED"]
            assert subscriber.heard.count("ADDED a") == subscriber.heard.count("DELETED a")

    run_scenario(scenario)


def test_one_that_takes_the_name_of_another_is_told_as_two() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, plain("a"))
        async with SharedCluster(api, api.clock) as cluster:
            subscriber = RecordingSubscriber()
            cluster.subscribe(PODS, subscriber)
            await quiet()
            with api.held():
                api.remove(PODS, "a")
                await cluster.create(Ref(PODS, "default"), plain("a"))
                assert subscriber.heard == ["ADDED a", "SYNCED", "DELETED a", "ADDED a"]
            await quiet()
            assert subscriber.heard == ["ADDED a", "SYNCED", "DELETED a", "ADDED a"]

    run_scenario(scenario)


def test_what_came_and_went_between_two_watches_is_found_out() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            doubts = asyncio.create_task(cluster.verify_unconfirmed())
            subscriber = RecordingSubscriber()
            cluster.subscribe(PODS, subscriber)
            await quiet()
            with api.deaf():
                await cluster.create(Ref(PODS, "default"), plain("a"))
                api.remove(PODS, "a")
            await api.clock.advance(2 * VERIFY_AFTER)
            assert subscriber.heard == ["SYNCED", "ADDED a", "DELETED a"]
            doubts.cancel()
            await asyncio.gather(doubts, return_exceptions=True)

    run_scenario(scenario)


def test_followers_share_the_watch_too() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, plain("a"))
        async with SharedCluster(api, api.clock) as cluster:
            heard = []
            for _ in range(2):
                changes = cluster.follow(PODS)
                heard.append([(await anext(changes)).type, (await anext(changes)).type])
                await changes.aclose()  # type: ignore[attr-defined]
            assert heard == [[ChangeType.ADDED, ChangeType.SYNCED]] * 2
            assert api.watches(PODS) == 1

    run_scenario(scenario)


def test_a_follower_of_one_namespace_hears_of_no_other() -> None:
    async def scenario(api: FakeCluster) -> None:
        for namespace in ("default", "team"):
            api.put(PODS, pod(f"in-{namespace}", meta={"namespace": namespace}))
        async with SharedCluster(api, api.clock) as cluster:
            changes = cluster.follow(PODS, namespace="team")
            first, second = await anext(changes), await anext(changes)
            assert msgspec.json.decode(first.raw)["metadata"]["name"] == "in-team"
            assert second.type is ChangeType.SYNCED
            await changes.aclose()  # type: ignore[attr-defined]

    run_scenario(scenario)


def test_a_listener_that_fails_fails_alone() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:

            def broken(_: ObjectChange) -> None:
                raise ValueError("broken")

            subscriber = RecordingSubscriber()
            failed = cluster.subscribe(PODS, broken)
            cluster.subscribe(PODS, subscriber)
            await quiet()
            api.put(PODS, plain("a"))
            await quiet()
            assert isinstance(failed.ended.exception(), ValueError)
            assert subscriber.heard == ["SYNCED", "ADDED a"]

    run_scenario(scenario)


def test_a_resource_that_is_not_served_is_said_so() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.unserved.add(PODS.key)
        async with SharedCluster(api, api.clock) as cluster:
            subscription = cluster.subscribe(PODS, RecordingSubscriber())
            await quiet()
            assert isinstance(subscription.ended.exception(), Refused)
            api.unserved.clear()
            subscriber = RecordingSubscriber()
            cluster.subscribe(PODS, subscriber)
            await quiet()
            assert subscriber.heard == ["SYNCED"]

    run_scenario(scenario)


def test_one_version_may_be_served_and_another_not() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.unserved.add(MPI_JOBS.path())
        async with SharedCluster(api, api.clock) as cluster:
            absent, there = RecordingSubscriber(), RecordingSubscriber()
            subscriptions = cluster.subscribe(MPI_JOBS, absent), cluster.subscribe(MPI_JOBS_V1, there)
            await quiet()
            assert [subscription.ended.done() for subscription in subscriptions] == [True, False]
            assert (absent.heard, there.heard) == ([], ["SYNCED"])

    run_scenario(scenario)


def test_events_are_not_kept() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            for _ in range(2):
                changes = cluster.follow(EVENTS)
                assert (await anext(changes)).type is ChangeType.SYNCED
                await changes.aclose()  # type: ignore[attr-defined]
            assert api.watches(EVENTS) == 0

    run_scenario(scenario)


def test_it_closes_its_watches() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            cluster.subscribe(PODS, RecordingSubscriber())
            await quiet()
        assert api.watches(PODS) == 0

    run_scenario(scenario)


@pytest.mark.parametrize("sub", ["", "status"])
def test_an_answer_that_is_older_than_the_watch_changes_nothing(sub: str) -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, plain("a"))
        async with SharedCluster(api, api.clock) as cluster:
            latest: list[bytes] = []
            cluster.subscribe(PODS, lambda change: latest.append(change.raw) if change.raw else None)
            await quiet()
            patch = {"metadata": {"labels": {"mine": "1"}}}
            patching = asyncio.create_task(
                cluster.patch(Ref(PODS, "default", "a"), patch, sub=sub, form=PatchForm.MERGE)
            )
            while "mine" not in api.read(PODS, "a")["metadata"].get("labels", {}):
                await asyncio.sleep(0)
            api.change(PODS, "a", {"metadata": {"labels": {"theirs": "2"}}})
            await patching
            await quiet()
            assert msgspec.json.decode(latest[-1])["metadata"]["labels"] == {"mine": "1", "theirs": "2"}

    run_scenario(scenario)
