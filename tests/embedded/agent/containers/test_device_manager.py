"""Devices are numbered through all nodes, never shared, and seen only by containers that request them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.agent.agent_world import AgentWorld, node, run_scenario
from understudy.embedded.agent.api.pod_types import Pod, decode_pod
from understudy.embedded.agent.containers.device_manager import DeviceManager, DevicesExhausted, device_variables

GPU = "nvidia.com/gpu"


def pod(uid: str, *gpus: int, on: str = "a", init: tuple[int, ...] = (), resource: str = GPU) -> Pod:
    def containers(prefix: str, counts: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {"name": f"{prefix}{n}", "resources": {"limits": {resource: str(count)}}} for n, count in enumerate(counts)
        ]

    spec = {"nodeName": on, "containers": containers("c", gpus), "initContainers": containers("i", init)}
    return decode_pod(msgspec.json.encode({"metadata": {"uid": uid}, "spec": spec}))


def two_nodes() -> DeviceManager:
    return DeviceManager([node("a", **{GPU: "4"}), node("b", **{GPU: "4", "cpu": "96"})])


def test_devices_are_numbered_through_all_nodes() -> None:
    devices = two_nodes()
    assert devices.take(pod("x", 2, on="b")) == {"c0": {GPU: ("4", "5")}}
    assert devices.take(pod("y", 4, on="a")) == {"c0": {GPU: ("0", "1", "2", "3")}}


def test_no_two_pods_share_a_device() -> None:
    devices = two_nodes()
    devices.take(pod("x", 3))
    with pytest.raises(DevicesExhausted, match=r"2 of nvidia.com/gpu needed on node a, 1 free"):
        devices.take(pod("y", 2))
    assert devices.take(pod("z", 1)) == {"c0": {GPU: ("3",)}}


def test_devices_are_free_when_a_pod_has_ended() -> None:
    devices = two_nodes()
    devices.take(pod("x", 4))
    assert devices.release("x")
    assert not devices.release("x")
    assert devices.take(pod("y", 4))


def test_a_pod_that_asks_twice_gets_the_same_devices() -> None:
    devices = two_nodes()
    assert devices.take(pod("x", 1)) == devices.take(pod("x", 1))


def test_assignments_survive_a_restart_of_the_agent() -> None:
    devices = two_nodes()
    devices.restore("x", {"main": {GPU: ("0", "1")}})
    assert devices.take(pod("y", 2)) == {"c0": {GPU: ("2", "3")}}


def test_a_device_in_two_restored_records_stays_with_the_pod_that_still_runs() -> None:
    devices = two_nodes()
    devices.restore("ended", {"main": {GPU: ("0", "1")}})
    devices.restore("lives", {"main": {GPU: ("0",)}})
    assert devices.release("ended")
    assert devices.take(pod("new", 3)) == {"c0": {GPU: ("1", "2", "3")}}
    assert devices.release("lives")
    assert devices.take(pod("next", 1)) == {"c0": {GPU: ("0",)}}


def test_parallel_containers_have_their_own_devices_and_init_containers_share_them() -> None:
    shares = two_nodes().take(pod("x", 1, 2, init=(2,)))
    assert shares == {"c0": {GPU: ("0",)}, "c1": {GPU: ("1", "2")}, "i0": {GPU: ("0", "1")}}


def test_a_node_may_list_the_ids_of_real_devices() -> None:
    real = node("a", **{GPU: "2"})
    real["metadata"]["annotations"] = {"understudy.dev/devices": '{"nvidia.com/gpu": ["GPU-5f", "GPU-a1"]}'}
    assert DeviceManager([real]).take(pod("x", 2)) == {"c0": {GPU: ("GPU-5f", "GPU-a1")}}


def test_devices_of_any_vendor_are_assigned() -> None:
    devices = DeviceManager([node("a", **{"example.com/npu": "2"})])
    shares = devices.take(pod("x", 2, resource="example.com/npu"))
    assert device_variables(shares["c0"])["UNDERSTUDY_DEVICES_EXAMPLE_COM_NPU"] == "0,1"


@pytest.mark.parametrize(
    ("resource", "names"),
    [
        (GPU, ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"]),
        ("amd.com/gpu", ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"]),
        ("google.com/tpu", ["TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"]),
    ],
)
def test_each_vendor_has_its_variables(resource: str, names: list[str]) -> None:
    told = device_variables({resource: ("2", "5")})
    assert [told[name] for name in names] == ["2,5", "2,5"]
    others = {name: value for name, value in told.items() if name not in names and "UNDERSTUDY" not in name}
    assert set(others.values()) <= {"", "void"}


def test_pods_see_their_devices_and_no_others(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = 'echo "$CUDA_VISIBLE_DEVICES|$NVIDIA_VISIBLE_DEVICES"; sleep 1000'
        asking = {"limits": {GPU: "2"}}
        one = {"name": "main", "command": ["sh", "-c", script], "resources": asking}
        greedy = {**one, "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0,1,2,3"}]}
        none = {"name": "main", "command": ["sh", "-c", script]}
        first = await world.create_pod("first", {"containers": [one]})
        assert await world.logged(first, "\n") == "0,1|0,1\n"
        second = await world.create_pod("second", {"containers": [greedy]})
        assert await world.logged(second, "\n") == "2,3|2,3\n"
        third = await world.create_pod("third", {"containers": [none]})
        assert await world.logged(third, "\n") == "|void\n"

    run_scenario(tmp_path, scenario, nodes=(node(**{GPU: "4"}),))


def test_a_pod_waits_for_devices_of_a_pod_that_ends(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        command = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 1000"]
        main = {"name": "main", "command": command, "resources": {"limits": {GPU: "1"}}}
        holder = await world.create_pod("holder", {"containers": [main]})
        await world.logged(holder, "0")
        waiter = await world.create_pod("waiter", {"containers": [main]})
        await world.cluster.until(lambda: "FailedCreatePodSandBox" in dict(world.cluster.events("waiter")))
        await world.delete("holder", grace=5)
        assert await world.logged(waiter, "\n") == "0\n"

    run_scenario(tmp_path, scenario, nodes=(node(**{GPU: "1"}),))
