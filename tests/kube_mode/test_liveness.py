"""Signs of life: who shows none for long must not lead."""

import asyncio

import pytest

from tests.control.virtual_clock import VirtualClock
from understudy.kube.fenced_client import WriteNotAllowed
from understudy.kube.liveness import LONGEST_SILENCE, Heartbeat


def test_a_lease_is_not_written_for_a_main_loop_that_is_silent() -> None:
    clock = VirtualClock()
    heartbeat = Heartbeat(clock.now)
    clock.jump(LONGEST_SILENCE)
    heartbeat.check()
    clock.jump(1.0)
    with pytest.raises(WriteNotAllowed, match="no sign of life for 61 s"):
        heartbeat.check()
    heartbeat.beat()
    heartbeat.check()


def test_a_loop_that_turns_shows_it() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        heartbeat = Heartbeat(clock.now)
        clock.jump(100.0)
        showing = asyncio.create_task(heartbeat.keep_beating())
        await asyncio.sleep(0)
        assert heartbeat.silence == 0.0
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)

    asyncio.run(scenario())
