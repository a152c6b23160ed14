"""What cannot be followed is named once, and followed as soon as it can be."""

import asyncio
import logging

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock
from understudy.control.watch.reflector import ObjectHeader, Reflector, WatchedResource
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject
from understudy.objects.resources import JOB_SETS, NODES


class IgnoringReader:
    def put(self, obj: KubeObject) -> None: ...

    def remove(self, obj: KubeObject) -> None: ...

    def cannot_read(self, bare: ObjectHeader, error: BadObject, gone: bool) -> None: ...


def test_it_is_said_once_what_cannot_be_followed(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        cluster = FakeCluster(clock, absent=[NODES.key, JOB_SETS.key])
        sources = (WatchedResource((NODES,)), WatchedResource((JOB_SETS,), optional=True))
        following = Reflector(cluster, clock, IgnoringReader(), sources)
        running = asyncio.create_task(following.run())
        await clock.let_pass(60.0)
        assert [record.getMessage() for record in caplog.records] == ["cannot follow nodes: there is no nodes"]
        assert list(following.unseen) == ["nodes"]
        cluster.absent.clear()
        await clock.let_pass(2.0)
        assert list(following.unseen) == []
        assert following.synced.is_set()
        cluster.break_off(NODES.key)
        await clock.let_pass(60.0)
        assert len(caplog.records) == 2
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    caplog.set_level(logging.WARNING)
    asyncio.run(scenario())
