"""Accelerators: numbered through all nodes, never shared, seen only by those who asked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.agent.agent_world import AgentWorld, node, run_scene
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


def test_devices_come_back_when_a_pod_has_ended() -> None:
    devices = two_nodes()
    devices.take(pod("x", 4))
    assert devices.release("x")
    assert not devices.release("x")
    assert devices.take(pod("y", 4))


def test_asking_twice_gives_the_same() -> None:
    devices = two_nodes()
    assert devices.take(pod("x", 1)) == devices.take(pod("x", 1))


def test_an_agent_that_starts_again_knows_who_has_what() -> None:
    devices = two_nodes()
    devices.restore("x", {"main": {GPU: ("0", "1")}})
    assert devices.take(pod("y", 2)) == {"c0": {GPU: ("2", "3")}}


def test_what_an_ended_pod_gives_back_after_a_restart_is_not_taken_from_the_one_that_has_it_now() -> None:
    devices = two_nodes()
    devices.restore("ended", {"main": {GPU: ("0", "1")}})
    devices.restore("lives", {"main": {GPU: ("0",)}})
    assert devices.release("ended")
    assert devices.take(pod("new", 3)) == {"c0": {GPU: ("1", "2", "3")}}
    assert devices.release("lives")
    assert devices.take(pod("next", 1)) == {"c0": {GPU: ("0",)}}


def test_containers_side_by_side_have_their_own_and_init_containers_borrow() -> None:
    shares = two_nodes().take(pod("x", 1, 2, init=(2,)))
    assert shares == {"c0": {GPU: ("0",)}, "c1": {GPU: ("1", "2")}, "i0": {GPU: ("0", "1")}}


def test_a_node_that_stands_for_real_devices_says_which() -> None:
    real = node("a", **{GPU: "2"})
    real["metadata"]["annotations"] = {"understudy.dev/devices": '{"nvidia.com/gpu": ["GPU-5f", "GPU-a1"]}'}
    assert DeviceManager([real]).take(pod("x", 2)) == {"c0": {GPU: ("GPU-5f", "GPU-a1")}}


def test_any_vendor_will_do() -> None:
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
def test_each_vendors_libraries_are_told(resource: str, names: list[str]) -> None:
    told = device_variables({resource: ("2", "5")})
    assert [told[name] for name in names] == ["2,5", "2,5"]
    others = {name: value for name, value in told.items() if name not in names and "UNDERSTUDY" not in name}
    assert set(others.values()) <= {"", "void"}


def test_pods_see_their_devices_and_no_others(tmp_path: Path) -> None:
    async def scene(world: AgentWorld) -> None:
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

    run_scene(tmp_path, scene, nodes=(node(**{GPU: "4"}),))


def test_a_pod_waits_for_devices_that_are_on_their_way_back(tmp_path: Path) -> None:
    async def scene(world: AgentWorld) -> None:
        command = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 1000"]
        main = {"name": "main", "command": command, "resources": {"limits": {GPU: "1"}}}
        holder = await world.create_pod("holder", {"containers": [main]})
        await world.logged(holder, "0")
        waiter = await world.create_pod("waiter", {"containers": [main]})
        await world.cluster.until(lambda: "FailedCreatePodSandBox" in dict(world.cluster.events("waiter")))
        await world.delete("holder", grace=5)
        assert await world.logged(waiter, "\n") == "0\n"

    run_scene(tmp_path, scene, nodes=(node(**{GPU: "1"}),))
