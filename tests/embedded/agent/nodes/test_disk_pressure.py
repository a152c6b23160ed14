"""Disk pressure is reported once on every node, and so is its end."""

import asyncio
import errno

from tests.embedded.agent.agent_world import node
from tests.embedded.agent.fake_cluster import FakeCluster
from understudy.embedded.agent.nodes import node_status
from understudy.embedded.agent.nodes.disk_pressure import LEAST_FREE_BYTES, DiskPressureMonitor
from understudy.objects.resources import NODES
from understudy.ports import Ref


def pressure(cluster: FakeCluster, name: str) -> str:
    conditions = cluster.objects[(NODES.key, "", name)]["status"]["conditions"]
    found: str = next(one["status"] for one in conditions if one["type"] == "DiskPressure")
    return found


def test_disk_pressure_is_reported_and_so_is_its_end() -> None:
    async def scenario() -> None:
        cluster, free = FakeCluster(), [LEAST_FREE_BYTES]
        for name in ("a", "b"):
            await cluster.create(Ref(NODES), node_status.node_document(node(name), 1 << 30, 0.0))
        watch = DiskPressureMonitor(cluster, ("a", "b", "away"), lambda: free[0], lambda: 7.0)
        await watch.look()
        assert [pressure(cluster, name) for name in "ab"] == ["False", "False"]
        free[0] = LEAST_FREE_BYTES - 1
        cluster.reachable = False
        await watch.look()
        cluster.reachable = True
        assert [pressure(cluster, name) for name in "ab"] == ["False", "False"]
        await watch.look()
        assert [pressure(cluster, name) for name in "ab"] == ["True", "True"]
        free[0] = LEAST_FREE_BYTES
        await watch.look()
        assert [pressure(cluster, name) for name in "ab"] == ["False", "False"]

    asyncio.run(scenario())


def test_a_disk_that_cannot_be_read_changes_nothing() -> None:
    def broken() -> int:
        raise OSError(errno.EIO, "Input/output error")

    asyncio.run(DiskPressureMonitor(FakeCluster(), ("a",), broken, lambda: 7.0).look())
