"""The notice of a node as it is written: beside other writers, through outages, and withdrawn in order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from unittest import mock

import pytest

from tests.eventually import eventually_async
from tests.node_agent.fake_node_api import FakeNodeApi, unreachable
from understudy.kinds.annotations import format_notice
from understudy.model.nodes import Notice
from understudy.node_agent.notices import notice_writer
from understudy.node_agent.notices.notice_annotation import change_notice
from understudy.node_agent.notices.notice_writer import NoticeWriter, settled_notice
from understudy.node_agent.notices.source_watch import OwnNotice
from understudy.ports import Refused

OURS = Notice(2000.0, "azure", "Preempt", 1970.0)
EARLIER = Notice(1990.0, "rehearsal", "rehearsed", 1960.0)
LATER = Notice(2500.0, "rehearsal", "rehearsed", 1960.0)


@contextlib.asynccontextmanager
async def writing(api: FakeNodeApi) -> AsyncIterator[NoticeWriter]:
    with mock.patch.object(notice_writer, "FIRST_PAUSE", 0.01), mock.patch.object(notice_writer, "CHECK", 0.05):
        writer = NoticeWriter(api, "a", "azure")
        task = asyncio.create_task(writer.run())
        try:
            yield writer
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def taken(writer: NoticeWriter) -> None:
    """Returns when the writer has looked at what it was told."""
    await eventually_async(lambda: not writer._changed.is_set())


def says(api: FakeNodeApi, notice: Notice | None) -> Callable[[], bool]:
    return lambda: api.annotation("a") == (None if notice is None else format_notice(notice))


def test_a_notice_is_written_once_and_withdrawn() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        async with writing(api) as writer:
            writer.tell(OwnNotice(OURS))
            await eventually_async(says(api, OURS))
            assert api.annotation("a") == (
                "deadline=1970-01-01T00:33:20Z,source=azure,cause=Preempt,at=1970-01-01T00:32:50Z"
            )
            writer.tell(OwnNotice(OURS))
            await taken(writer)
            writer.tell(None)
            await eventually_async(says(api, None))
            assert api.writes == [("a", ""), ("a", "")]

    asyncio.run(scenario())


def test_a_notice_is_written_when_the_api_is_back() -> None:
    async def scenario() -> None:
        for failure in (unreachable(), Refused(503, "ServiceUnavailable", "later"), Refused(403, "Forbidden", "no")):
            api = FakeNodeApi("a")
            api.failure = failure
            async with writing(api) as writer:
                writer.tell(OwnNotice(OURS))
                await taken(writer)
                api.failure = None
                await eventually_async(says(api, OURS))

    asyncio.run(scenario())


def test_an_earlier_notice_of_another_source_stays_and_is_covered_again_when_it_goes() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        api.annotate("a", format_notice(EARLIER))
        async with writing(api) as writer:
            writer.tell(OwnNotice(OURS))
            await taken(writer)
            assert says(api, EARLIER)()
            api.annotate("a", None)
            await eventually_async(says(api, OURS))

    asyncio.run(scenario())


def test_a_notice_that_an_agent_left_behind_is_withdrawn_and_those_of_others_are_not() -> None:
    async def scenario() -> None:
        for present, left in ((OURS, None), (LATER, LATER)):
            api = FakeNodeApi("a")
            api.annotate("a", format_notice(present))
            async with writing(api) as writer:
                writer.tell(None)
                await eventually_async(says(api, left))
                await taken(writer)
                assert says(api, left)()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("own", "present", "after"),
    [
        pytest.param(None, None, None, id="nothing stays nothing"),
        pytest.param(OwnNotice(OURS), LATER, OURS, id="an earlier deadline goes first"),
        pytest.param(OwnNotice(OURS), EARLIER, EARLIER, id="also that of another source"),
        pytest.param(OwnNotice(OURS), Notice(1.0, "azure", "Preempt"), OURS, id="a deadline the source moved"),
        pytest.param(
            OwnNotice(OURS, estimated=True),
            Notice(1990.0, "azure", "Preempt"),
            Notice(1990.0, "azure", "Preempt"),
            id="an estimate is not put off by a restart",
        ),
        pytest.param(
            OwnNotice(OURS, estimated=True), Notice(1990.0, "azure", "Reboot"), OURS, id="of another event it is"
        ),
    ],
)
def test_which_notice_stands(own: OwnNotice | None, present: Notice | None, after: Notice | None) -> None:
    assert settled_notice("azure", own, present) == after


def test_a_write_that_another_one_overtakes_is_decided_anew() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")

        def overtake() -> None:
            api.before_patch = lambda: None
            api.annotate("a", format_notice(EARLIER))

        api.before_patch = overtake
        change = await change_notice(api, "a", lambda present: present or OURS)
        assert (change.before, change.after) == (EARLIER, EARLIER)
        assert says(api, EARLIER)()

    asyncio.run(scenario())


def test_a_write_that_is_overtaken_for_ever_is_given_up() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        api.before_patch = lambda: api.annotate("a", "x", key="other")
        with pytest.raises(Refused) as refusal:
            await change_notice(api, "a", lambda _: OURS)
        assert refusal.value.code == 409

    asyncio.run(scenario())


def test_a_notice_that_cannot_be_read_is_replaced_and_not_removed_by_who_did_not_write_it() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        api.annotate("a", "soon")
        async with writing(api) as writer:
            writer.tell(None)
            await taken(writer)
            assert api.annotation("a") == "soon"
            writer.tell(OwnNotice(OURS))
            await eventually_async(says(api, OURS))

    asyncio.run(scenario())
