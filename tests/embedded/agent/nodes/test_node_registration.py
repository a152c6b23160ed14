"""Nodes in the API: registration, renewal of leases, and recovery."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import node
from tests.embedded.agent.fake_cluster import FakeCluster
from tests.embedded.disks import Room
from tests.eventually import eventually_async
from understudy.embedded import failed_nodes
from understudy.embedded.agent.nodes import node_lease, node_registration, node_status
from understudy.embedded.agent.nodes.node_registration import NodeRegistry
from understudy.kinds.annotations import format_time
from understudy.objects.resources import LEASES, NODES
from understudy.ports import Change, ChangeType, Ref

NODE_INFO = {
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
}  # fmt: skip


def test_a_node_is_registered_with_all_fields_that_clients_read() -> None:
    given = node("a", **{"example.com/npu": "2"})
    given["metadata"]["labels"] = {"zone": "z"}
    given["spec"] = {"taints": [{"key": "spot", "effect": "NoSchedule"}]}
    document = node_status.node_document(given, storage=1 << 40, now=0.0)
    status = document["status"]
    assert document["metadata"] == {"name": "a", "labels": {"zone": "z"}}
    assert document["spec"] == {"taints": [{"key": "spot", "effect": "NoSchedule"}]}
    assert status["capacity"].keys() == {"cpu", "memory", "pods", "ephemeral-storage", "example.com/npu"}
    assert status["allocatable"] == status["capacity"]
    assert status["nodeInfo"].keys() == NODE_INFO
    assert all(status["nodeInfo"].values())
    assert {one["type"]: one["address"] for one in status["addresses"]} == {"InternalIP": "127.0.0.1", "Hostname": "a"}
    assert {one["type"]: one["status"] for one in status["conditions"]}["Ready"] == "True"


def test_the_cluster_file_overrides_the_status_of_a_node() -> None:
    given = node("a")
    given["status"] |= {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}], "nodeInfo": {"osImage": "Linux"}}
    status = node_status.node_status(given, 1, 0.0)
    assert status["addresses"] == [{"type": "InternalIP", "address": "10.0.0.7"}]
    assert status["nodeInfo"]["osImage"] == "Linux"
    assert node_status.internal_address(given) == "10.0.0.7"


@pytest.mark.parametrize(
    ("count", "seconds", "duration"), [(1, 1.0, 4), (50, 2.0, 8), (100, 4.0, 16), (1000, 40.0, 160)]
)
def test_leases_of_many_nodes_are_renewed_less_often(count: int, seconds: float, duration: int) -> None:
    assert node_lease.renewal_seconds(count) == seconds
    assert node_lease.lease_document("a", count, 0.0)["spec"]["leaseDurationSeconds"] == duration
    assert count / node_lease.renewal_seconds(count) <= 25


def registering(path: Path, scenario: Callable[[FakeCluster, NodeRegistry], Awaitable[None]], *names: str) -> None:
    async def whole() -> None:
        cluster = FakeCluster()
        kept = NodeRegistry(cluster, [node(name) for name in names], path)
        try:
            await scenario(cluster, kept)
        finally:
            kept.close()

    asyncio.run(whole())


def ready(cluster: FakeCluster, name: str) -> dict[str, Any]:
    conditions = cluster.objects[NODES.key, "", name]["status"]["conditions"]
    found: dict[str, Any] = next(one for one in conditions if one["type"] == "Ready")
    return found


def test_nodes_and_leases_are_created_at_the_start(tmp_path: Path) -> None:
    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        assert ready(cluster, "a")["status"] == ready(cluster, "b")["status"] == "True"
        assert {key[2] for key in cluster.objects if key[0] == LEASES.key} == {"a", "b"}

    registering(tmp_path, scenario, "a", "b")


def test_a_node_that_exists_is_made_ready_and_keeps_changes_by_users(tmp_path: Path) -> None:
    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        stored = cluster.objects[NODES.key, "", "a"]
        stored["metadata"]["labels"]["mine"] = "yes"
        stored["spec"]["unschedulable"] = True
        ready(cluster, "a")["status"] = "Unknown"
        await kept.register_all()
        assert ready(cluster, "a")["status"] == "True"
        assert stored["metadata"]["labels"]["mine"] == "yes"
        assert stored["spec"]["unschedulable"] is True

    registering(tmp_path, scenario, "a")


def test_a_node_that_stayed_ready_keeps_its_transition_time(tmp_path: Path) -> None:
    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        ready(cluster, "a")["lastTransitionTime"] = "2020-01-01T00:00:00Z"
        await kept.register_all()
        assert ready(cluster, "a")["lastTransitionTime"] == "2020-01-01T00:00:00Z"

    registering(tmp_path, scenario, "a")


def test_a_cluster_that_is_not_up_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_registration, "_PAUSE", 0.01)

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        cluster.reachable = False
        registration = asyncio.create_task(kept.register_all())
        await cluster.knocked.wait()
        assert not cluster.objects
        cluster.reachable = True
        await registration
        assert ready(cluster, "a")["status"] == "True"

    registering(tmp_path, scenario, "a")


def test_a_node_that_was_deleted_comes_back_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_registration, "RETURN_AFTER", 0.01)

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        await cluster.erase(Ref(NODES, name="a"))
        kept.changed(Change(ChangeType.DELETED, b'{"metadata": {"name": "a"}}'))
        kept.changed(Change(ChangeType.DELETED, b'{"metadata": {"name": "of others"}}'))
        await cluster.until(lambda: (NODES.key, "", "a") in cluster.objects)

    registering(tmp_path, scenario, "a")


def test_all_leases_are_renewed_at_once_when_the_api_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the last of many nodes would be lost only because its renewal came late."""
    monkeypatch.setattr(node_lease, "renewal_seconds", lambda _: 0.3)

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        cluster.reachable = False
        renewing = asyncio.create_task(kept.renew_forever())
        await cluster.knocked.wait()
        cluster.reachable = True
        cluster.writes.clear()
        await cluster.until(lambda: len(cluster.writes) >= 10)
        assert len({path for _, path in cluster.writes[:10]}) >= 9
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)

    registering(tmp_path, scenario, *(f"n{number}" for number in range(9)))


def test_a_node_that_fails_before_its_renewal_is_not_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_lease, "renewal_seconds", lambda _: 0.05)
    first, second = (LEASES.path(node_lease.LEASE_NAMESPACE, name) for name in ("a", "b"))

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        cluster.writes.clear()
        renewing = asyncio.create_task(kept.renew_forever())
        await cluster.until(lambda: ("patch", first) in cluster.writes)
        kept.fail("b")
        await cluster.until(lambda: cluster.writes.count(("patch", first)) == 3)
        assert ("patch", second) not in cluster.writes
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)

    registering(tmp_path, scenario, "a", "b")


def test_a_failed_node_stays_failed_when_the_agent_starts_again(tmp_path: Path) -> None:
    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        kept.fail("a")
        again = NodeRegistry(cluster, [node("a"), node("b")], tmp_path)
        assert again.failed == {"a"}
        await again.register_all()
        assert {key[2] for key in cluster.objects if key[0] == NODES.key} == {"b"}
        again.close()

    registering(tmp_path, scenario, "a", "b")


def test_a_failure_that_cannot_be_saved_is_saved_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_registration, "_PAUSE", 0.01)
    room = Room(monkeypatch)

    async def scenario(_: FakeCluster, kept: NodeRegistry) -> None:
        room.bytes = 0
        kept.fail("a")
        kept.unplug("b")
        assert (kept.failed, kept.unplugged) == ({"a"}, {"b"})
        assert failed_nodes.load(tmp_path).names == set()
        room.bytes = None
        await eventually_async(lambda: failed_nodes.load(tmp_path).names == {"a", "b"})

    registering(tmp_path, scenario, "a", "b")


def lease_of(cluster: FakeCluster, name: str) -> str:
    return str(cluster.objects[LEASES.key, node_lease.LEASE_NAMESPACE, name]["spec"]["renewTime"])


def test_a_lease_has_the_time_of_the_last_heartbeat(tmp_path: Path) -> None:
    """Not the time of the write: a node that hangs since then must not appear to live longer."""

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        moment = 4e9
        for heard in (moment, moment + 0.2, moment + 1.0):
            kept.heartbeat("a", heard)
            await cluster.until(lambda: lease_of(cluster, "a") >= format_time(moment))
        await cluster.until(lambda: lease_of(cluster, "a") == format_time(moment + 1.0))
        writes = [path for verb, path in cluster.writes if verb == "patch" and "leases" in path]
        assert len(writes) == 2, "the one in between came too soon"

    registering(tmp_path, scenario, "a")


def test_leases_of_nodes_with_heartbeats_are_renewed_by_heartbeats_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lease, "renewal_seconds", lambda _: 0.05)

    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        kept.has_heartbeats = lambda name: name == "b"
        await kept.register_all()
        before = lease_of(cluster, "b")
        cluster.writes.clear()
        renewing = asyncio.create_task(kept.renew_forever())
        first = LEASES.path(node_lease.LEASE_NAMESPACE, "a")
        await cluster.until(lambda: cluster.writes.count(("patch", first)) == 3)
        assert lease_of(cluster, "b") == before
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)

    registering(tmp_path, scenario, "a", "b")


def test_a_dead_node_is_reported_and_an_unplugged_one_is_not(tmp_path: Path) -> None:
    async def scenario(cluster: FakeCluster, kept: NodeRegistry) -> None:
        await kept.register_all()
        kept.fail("a")
        kept.unplug("b")
        again = NodeRegistry(cluster, [node("a"), node("b")], tmp_path)
        assert (again.failed, again.unplugged) == ({"a"}, {"b"})
        before = lease_of(cluster, "b")
        again.heartbeat("b", 4e9)
        await again.register_all()
        await cluster.until(lambda: ready(cluster, "a")["status"] == "Unknown")
        assert ready(cluster, "a")["reason"] == "AgentGone"
        assert ready(cluster, "b")["status"] == "True"
        assert lease_of(cluster, "b") == before
        again.close()

    registering(tmp_path, scenario, "a", "b")
