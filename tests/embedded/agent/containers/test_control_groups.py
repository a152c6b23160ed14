"""CPU and memory limits: control groups of both versions, and the behaviour without them."""

import os
from pathlib import Path

import msgspec
import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario, state
from understudy.embedded.agent.api.pod_types import decode_pod
from understudy.embedded.agent.containers.control_groups import (
    ROOT,
    ContainerLimits,
    ControlGroupsV2,
    control_groups,
    limits_of,
)
from understudy.embedded.agent.containers.machine import group_base
from understudy.embedded.cluster_folder import ClusterFolder

HUNGRY = ["python", "-c", "import time; hoard = bytearray(200 * 1024 * 1024); print(len(hoard)); time.sleep(0)"]

may_limit = pytest.mark.skipif(
    control_groups(f"understudy-probe-{os.getpid()}") is None, reason="this machine permits no control groups"
)


@pytest.fixture(scope="module", autouse=True)
def no_traces() -> object:
    yield
    for path in (*ROOT.glob(f"understudy-probe-{os.getpid()}"), *ROOT.glob(f"*/understudy-probe-{os.getpid()}")):
        path.rmdir()


def test_limits_are_read_from_a_container() -> None:
    container = {"name": "main", "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "1"}}}
    pod = decode_pod(msgspec.json.encode({"metadata": {}, "spec": {"containers": [container]}}))
    assert limits_of(pod.spec.containers[0]) == ContainerLimits(1500, 64 * 1024 * 1024)


def unified(root: Path, *groups: str, controllers: str = "cpu memory pids") -> None:
    """A tree of control groups made of plain files."""
    for group in ("", *groups):
        (root / group).mkdir(parents=True, exist_ok=True)
        (root / group / "cgroup.controllers").write_text(controllers)
        (root / group / "cgroup.subtree_control").write_text(controllers)


def test_control_groups_v2(tmp_path: Path) -> None:
    unified(tmp_path, "understudy-mine")
    groups = control_groups("understudy-mine", tmp_path, own="0::/user.slice/me.scope")
    assert isinstance(groups, ControlGroupsV2)
    (path,) = groups.make("pod.main", ContainerLimits(cpu=2500, memory=1 << 30))
    assert path == str(tmp_path / "understudy-mine" / "pod.main")
    assert Path(path, "cpu.max").read_text() == "250000 100000"
    assert Path(path, "memory.max").read_text() == str(1 << 30)
    assert groups.make("free", ContainerLimits()) == ()


def test_without_root_rights_a_group_above_the_own_one_is_used(tmp_path: Path) -> None:
    unified(tmp_path, "user.slice", "user.slice/app.slice", controllers="pids")
    unified(tmp_path / "user.slice" / "app.slice", "understudy-mine")
    own = "0::/user.slice/app.slice/terminal.scope\n"
    groups = control_groups("understudy-mine", tmp_path, own=own)
    assert isinstance(groups, ControlGroupsV2)
    (path,) = groups.make("x", ContainerLimits(cpu=1))
    assert path.startswith(str(tmp_path / "user.slice" / "app.slice" / "understudy-mine"))
    assert Path(path, "cpu.max").read_text() == "1000 100000", "the kernel takes no less"


def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    assert control_groups("understudy-mine", tmp_path / "nothing") is None


@may_limit
def test_a_container_over_its_memory_limit_is_oom_killed(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = {"name": "main", "command": HUNGRY, "resources": {"limits": {"memory": "50Mi"}}}
        await world.create_pod("hungry", {"containers": [main], "restartPolicy": "Never"})
        terminated = state(await world.phase("hungry", "Failed"))["state"]["terminated"]
        assert (terminated["reason"], terminated["exitCode"]) == ("OOMKilled", 137)
        base = group_base(world.folder)
        assert list(ROOT.glob(f"*/{base}")) or list(ROOT.glob(base))
        assert not list(ROOT.glob(f"**/{base}/uid-*")), "the group goes with the container"

    run_scenario(tmp_path, scenario)
    assert not list(ROOT.glob(f"*/{group_base(ClusterFolder(tmp_path))}")), "and the agent leaves none behind"


@may_limit
def test_a_container_gets_no_more_cpu_than_its_limit(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        group = "$(sed -n 's/^[0-9]*:\\(cpu\\|\\):\\(.*understudy.*\\)/\\2/p' /proc/self/cgroup)"
        script = f"cat /sys/fs/cgroup{group}/cpu.max /sys/fs/cgroup/cpu{group}/cpu.cfs_quota_us 2>/dev/null"
        main = {"name": "main", "command": ["sh", "-c", script], "resources": {"limits": {"cpu": "250m"}}}
        uid = await world.create_pod("modest", {"containers": [main]})
        assert "25000" in await world.logged(uid, "\n")

    run_scenario(tmp_path, scenario)


def test_without_control_groups_memory_is_limited_by_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.embedded.agent.containers.machine.control_groups", lambda _: None)

    async def scenario(world: AgentWorld) -> None:
        main = {"name": "main", "command": HUNGRY, "resources": {"limits": {"memory": "50Mi", "cpu": "1"}}}
        uid = await world.create_pod("hungry", {"containers": [main], "restartPolicy": "Never"})
        await world.phase("hungry", "Failed")
        assert "MemoryError" in await world.log(uid)
        assert "LimitsNotHeld" in dict(world.cluster.events("hungry"))

    run_scenario(tmp_path, scenario)


def test_a_group_that_cannot_be_joined_is_reported_and_the_container_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        bases = ()

        def make(self, name: str, limits: ContainerLimits) -> tuple[str, ...]:
            return (os.fspath(tmp_path / f"no-{name}-{limits.memory}"),)

        def remove(self, name: str) -> None:
            pass

        def close(self) -> None:
            pass

    monkeypatch.setattr("understudy.embedded.agent.containers.machine.control_groups", lambda _: Broken())

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("free", "exit 0")
        await world.phase("free", "Succeeded")
        await world.cluster.until(lambda: "NotAsAsked" in dict(world.cluster.events("free")))
        assert "its limits are not held" in dict(world.cluster.events("free"))["NotAsAsked"]

    run_scenario(tmp_path, scenario)
