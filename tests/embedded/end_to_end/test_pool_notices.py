"""Pools that name a metadata server: a job leaves the node that the cloud announces, before any machine goes."""

import asyncio
from pathlib import Path

from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, running
from tests.node_agent.metadata_stand_in import stand_in
from understudy.embedded.clusters.machine import Machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.embedded.clusters.pools import Notices, Pool
from understudy.kinds.annotations import NOTICE
from understudy.objects.resources import NODES

MACHINE = Machine(name="host", address="127.0.0.1", cpu="16", memory="64Gi")
PREEMPT = {"EventId": "1", "EventStatus": "Scheduled", "EventType": "Preempt",
           "NotBefore": "Mon, 19 Jan 2037 00:00:00 GMT"}  # fmt: skip


def seat(cluster: RealCluster) -> str:
    up = [pod for pod in cluster.monitor.pods_of("train") if pod.get("status", {}).get("phase") == "Running"]
    return str(up[0]["spec"]["nodeName"]) if len(up) == 1 else ""


def noticed(cluster: RealCluster) -> set[str]:
    return {
        name
        for name in ("spot-0", "spot-1")
        if NOTICE in (cluster.monitor.find(NODES, name) or {"metadata": {}})["metadata"].get("annotations", {})
    }


def test_a_job_leaves_the_node_that_its_cloud_announces(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stand_in() as metadata:
            notices = Notices("azure", metadata.address)
            pool = Pool(name="spot", count=2, accelerators={"nvidia.com/gpu": 4}, notices=notices)
            async with running(tmp_path, pool_nodes([pool], MACHINE)) as cluster:
                monitor, body = cluster.monitor, job("train", gpus=4)
                await cluster.create({**body, "spec": {**body["spec"], "backoffLimit": 3}})
                first = await monitor.until("it runs", lambda: seat(cluster))
                metadata.announce_events({**PREEMPT, "Resources": [first]})
                await monitor.until("it runs elsewhere", lambda: seat(cluster) not in ("", first))
                assert noticed(cluster) == {first}
                metadata.announce_events()
                await monitor.until("the notice is withdrawn", lambda: not noticed(cluster))

    asyncio.run(scenario())
