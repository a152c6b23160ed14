"""Every source against a stand-in of its metadata server: notices come, change and go; bad answers change nothing."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from functools import partial

import msgspec
import pytest

from tests.eventually import eventually_async
from tests.node_agent import metadata_stand_in as server
from tests.node_agent.metadata_stand_in import StandIn, stand_in
from understudy.model.nodes import Notice
from understudy.node_agent.notices.announcements import Source
from understudy.node_agent.notices.source_watch import OwnNotice, SourceWatch, WatchedNodes
from understudy.node_agent.notices.sources import CLOUDS, source_named

NODE = "spot-0"
NOW = 1_000_000.0
PREEMPT = {"EventId": "1", "EventStatus": "Scheduled", "EventType": "Preempt", "Resources": [NODE],
           "NotBefore": "Mon, 19 Jan 1970 00:00:00 GMT"}  # fmt: skip
MIDNIGHT = 18 * 86_400.0
# By cloud: the path, what is announced there, and the notice that follows.
ANNOUNCED = {
    "azure": (server.AZURE_EVENTS, {"Events": [PREEMPT]}, Notice(MIDNIGHT, "azure", "Preempt", NOW)),
    "aws": (server.AWS_ACTION, {"action": "terminate", "time": "1970-01-19T00:00:00Z"},
            Notice(MIDNIGHT, "aws", "spot-terminate", NOW)),
    "gcp": (server.GCP_PREEMPTED, "TRUE", Notice(NOW + 30, "gcp", "preempted", NOW)),
}  # fmt: skip
NOTHING = {"azure": None, "aws": None, "gcp": "FALSE"}
PATHS = {cloud: announced[0] for cloud, announced in ANNOUNCED.items()}


class Told:
    """What was told of each node, in order."""

    def __init__(self) -> None:
        self.notices: dict[str, list[OwnNotice | None]] = {}

    def tell(self, node: str, own: OwnNotice | None) -> None:
        self.notices.setdefault(node, []).append(own)

    def last(self, node: str = NODE) -> Notice | None:
        own = self.notices.get(node, [None])[-1]
        return own.notice if own is not None else None


def quick(cloud: str, wait: float) -> Source:
    source = source_named(cloud)
    endpoints = tuple(msgspec.structs.replace(one, interval=0.01, wait=wait) for one in source.endpoints)
    return msgspec.structs.replace(source, endpoints=endpoints)


@contextlib.asynccontextmanager
async def watching(
    cloud: str,
    metadata: StandIn,
    names: Mapping[str, frozenset[str]] | None = None,
    ignored: frozenset[str] = frozenset(),
    limit: float = 60.0,
    wait: float = 0.1,
) -> AsyncIterator[Told]:
    told = Told()
    nodes = WatchedNodes(names or {NODE: frozenset({NODE})}, told.tell, ignored)
    task = asyncio.create_task(SourceWatch(quick(cloud, wait), nodes, metadata.address, limit, now=lambda: NOW).run())
    try:
        yield told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_notice_comes_with_its_deadline_and_is_withdrawn_when_the_source_says_no_more(cloud: str) -> None:
    path, value, notice = ANNOUNCED[cloud]

    async def scenario() -> None:
        async with stand_in() as metadata, watching(cloud, metadata) as told:
            await eventually_async(lambda: told.notices.get(NODE) == [None])
            metadata.announce(path, value)
            await eventually_async(lambda: told.last() == notice)
            metadata.announce(path, NOTHING[cloud])
            await eventually_async(lambda: told.notices[NODE][-1] is None)
            assert len(told.notices[NODE]) == 3, "each change is told once"

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", ["hang", "garbage", "huge", "error", "cut", "not-http"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_answer_that_says_nothing_neither_makes_nor_ends_a_notice(
    cloud: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, value, notice = ANNOUNCED[cloud]

    async def scenario() -> None:
        async with stand_in() as metadata:
            metadata.fault[path] = fault
            async with watching(cloud, metadata, limit=0.3) as told:
                await eventually_async(lambda: metadata.count(path) >= 3)
                assert told.notices == {}, "it is not known yet that there is none"
                metadata.announce(path, value)
                metadata.fault.clear()
                await eventually_async(lambda: told.last() == notice)
                metadata.fault[path] = fault
                seen = metadata.count(path)
                await eventually_async(lambda: metadata.count(path) >= seen + 3)
                assert told.last() == notice
                metadata.announce(path, NOTHING[cloud])
                metadata.fault.clear()
                await eventually_async(lambda: told.notices[NODE][-1] is None)

    with caplog.at_level(logging.WARNING, "understudy"):
        asyncio.run(scenario())
    complaints = [record.getMessage() for record in caplog.records if path in record.getMessage()]
    assert 1 <= len(complaints) <= 4, "each problem is logged once, not at every request"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_server_without_the_address_announces_nothing(cloud: str) -> None:
    path, value, _ = ANNOUNCED[cloud]

    async def scenario() -> None:
        async with stand_in() as metadata:
            metadata.announce(path, value)
            async with watching(cloud, metadata) as told:
                await eventually_async(lambda: told.last() is not None)
                metadata.fault[path] = "missing"
                await eventually_async(lambda: told.notices[NODE][-1] is None)

    asyncio.run(scenario())


def test_a_server_that_is_away_is_asked_until_it_answers() -> None:
    async def scenario() -> None:
        async with stand_in() as metadata:
            address = metadata.address
        gone = StandIn()
        gone.address = address
        async with watching("azure", gone) as told:
            port = int(address.rpartition(":")[2])
            back = await asyncio.start_server(gone.connected, "127.0.0.1", port)
            gone.announce_events(PREEMPT)
            await eventually_async(lambda: told.last() is not None)
            back.close()
        await gone.close()

    asyncio.run(scenario())


def test_a_hanging_endpoint_does_not_hold_up_the_others() -> None:
    async def scenario() -> None:
        async with stand_in() as metadata:
            metadata.fault[server.AWS_LIFECYCLE] = metadata.fault[server.AWS_REBALANCE] = "hang"
            async with watching("aws", metadata) as told:
                metadata.announce(*ANNOUNCED["aws"][:2])
                await eventually_async(lambda: told.last() == ANNOUNCED["aws"][2])

    asyncio.run(scenario())


def test_only_the_nodes_that_an_event_names_get_the_notice() -> None:
    async def scenario() -> None:
        names = {"a": frozenset({"a", "vmss_0"}), "b": frozenset({"b", "vmss_1"}), "c": frozenset({"c"})}
        async with stand_in() as metadata, watching("azure", metadata, names) as told:
            metadata.announce_events({**PREEMPT, "Resources": ["VMSS_1", "c"]})
            await eventually_async(lambda: told.last("b") is not None)
            assert told.last("c") is not None
            assert told.last("a") is None

    asyncio.run(scenario())


def test_of_several_announcements_the_first_to_come_true_counts() -> None:
    async def scenario() -> None:
        later = {**PREEMPT, "EventType": "Reboot", "NotBefore": "Tue, 20 Jan 1970 00:00:00 GMT"}
        async with stand_in() as metadata, watching("azure", metadata) as told:
            metadata.announce_events(later)
            await eventually_async(lambda: told.last() == Notice(MIDNIGHT + 86_400, "azure", "Reboot", NOW))
            metadata.announce_events(later, PREEMPT)
            await eventually_async(lambda: told.last() == Notice(MIDNIGHT, "azure", "Preempt", NOW))
            metadata.announce_events(later)
            await eventually_async(lambda: told.last() == Notice(MIDNIGHT + 86_400, "azure", "Reboot", NOW))

    asyncio.run(scenario())


def says_none(told: Told) -> bool:
    return told.notices.get(NODE) == [None]


def test_an_ignored_cause_is_no_notice() -> None:
    async def scenario() -> None:
        ignored = frozenset({"Freeze", "rebalance-recommendation"})
        async with stand_in() as metadata:
            metadata.announce_events({**PREEMPT, "EventType": "Freeze"})
            metadata.announce(server.AWS_REBALANCE, {"noticeTime": "1970-01-19T00:00:00Z"})
            for cloud in ("azure", "aws"):
                async with watching(cloud, metadata, ignored=ignored) as told:
                    await eventually_async(partial(says_none, told))
                async with watching(cloud, metadata) as told:
                    await eventually_async(told.last)

    asyncio.run(scenario())


def test_a_session_token_is_used_again_and_made_anew_when_it_expires() -> None:
    async def scenario() -> None:
        async with stand_in() as metadata, watching("aws", metadata) as told:
            await eventually_async(lambda: metadata.count(server.AWS_ACTION) >= 5)
            assert metadata.count(server.AWS_TOKEN) == 1
            metadata.tokens.clear()
            metadata.announce(*ANNOUNCED["aws"][:2])
            await eventually_async(lambda: told.last() is not None)
            assert metadata.count(server.AWS_TOKEN) <= 4, "one a poller at most"

    asyncio.run(scenario())


def test_google_is_asked_to_answer_when_the_value_changes() -> None:
    async def scenario() -> None:
        async with stand_in() as metadata, watching("gcp", metadata, wait=60.0) as told:

            def waits() -> bool:
                asked = [one.query for one in metadata.asked if one.path == server.GCP_PREEMPTED]
                return bool(asked) and asked[-1].get("wait_for_change") == "true"

            await eventually_async(waits)
            before = metadata.count(server.GCP_PREEMPTED)
            metadata.announce(server.GCP_PREEMPTED, "TRUE")
            await eventually_async(lambda: told.last() is not None)
            assert metadata.count(server.GCP_PREEMPTED) <= before + 1, "the open request told it"

    asyncio.run(scenario())
