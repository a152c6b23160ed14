"""Warm starts on a real agent: the process of the understudy becomes the missing pod, whatever happens in between."""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, node, run_scenario, state
from tests.eventually import eventually_async
from understudy.embedded.agent.containers import attempts
from understudy.embedded.agent.pods import warm_start
from understudy.embedded.shim import linux
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder
from understudy.kinds.annotations import STEPS_IN, WARM_FOR
from understudy.objects.resources import PODS
from understudy.ports import Ref

GPUS = {"nodes": (node(**{"nvidia.com/gpu": "2"}),)}
CODE = (
    "import os, socket; "
    "print(os.environ['ROLE'], os.getpid(), os.environ['CUDA_VISIBLE_DEVICES'], socket.gethostname(), "
    "os.environ['UNDERSTUDY_CONTAINER'], socket.gethostbyname('member'), flush=True); "
    "import time; time.sleep(3600)"
)


def spec(role: str, *command: str, **more: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "any",
        "command": list(command or (sys.executable, "-c", CODE)),
        "env": [{"name": "ROLE", "value": role}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        **more,
    }
    return {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}


def attempt(world: AgentWorld, uid: str) -> AttemptFolder:
    return pod_folder(world.folder.pods, uid).attempt("main", 0)


async def understudy(world: AgentWorld, *command: str, name: str = "warm") -> str:
    """Starts an understudy; returns its uid once it holds."""
    uid = await world.create_pod(name, spec("unbound", *command), annotations={WARM_FOR: "PyTorchJob/default/job"})
    await world.phase(name, "Running")
    await world.cluster.until(lambda: state(world.cluster.pod(name)).get("ready", False) is True)
    assert attempt(world, uid).holding.exists()
    return uid


async def until(is_so: Any) -> None:
    await eventually_async(lambda: is_so())


async def member(world: AgentWorld, understudy_uid: str, *command: str, **more: Any) -> str:
    return await world.create_pod("member", spec("worker-1", *command, **more), annotations={STEPS_IN: understudy_uid})


def pid_of(world: AgentWorld, uid: str) -> int:
    found = attempts.state_of(attempt(world, uid))
    assert found is not None
    return found.pid


def test_the_process_that_held_becomes_the_member(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        first = await world.run_pod("first", "sleep 3600", **spec("first", "sleep", "3600"))
        await world.phase("first", "Running")
        held_as = await understudy(world)
        pid = pid_of(world, held_as)
        uid = await member(world, held_as)
        pod = await world.phase("member", "Running")
        words = (await world.logged(uid, "worker-1")).split()
        assert words[:5] == ["worker-1", str(pid), "1", "member", f"{uid}/main/0"]
        assert words[5] == pod["status"]["podIP"]
        await world.gone("warm")
        assert pid_of(world, uid) == pid
        assert state(pod)["restartCount"] == 0
        assert first != uid

    run_scenario(tmp_path, scenario, **GPUS)


def test_a_member_that_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        pid = pid_of(world, held_as)
        uid = await member(world, held_as)
        await world.logged(uid, "worker-1")
        await world.delete("member", grace=1)
        await world.gone("member")
        await until(lambda: not any(world.folder.pods.iterdir()))
        assert linux.start_ticks(pid) is None
        again = await understudy(world, name="again")
        assert again != held_as

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "1"}),))


def test_projected_volumes_describe_the_member(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        file = {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}
        volumes = [{"name": "about", "downwardAPI": {"items": [file]}}]
        mounts = [{"name": "about", "mountPath": "/about"}]
        show = ("sh", "-c", "cat /about/name; exit 5")
        held_as = await world.create_pod(
            "warm", spec("unbound", *show, volumeMounts=mounts) | {"volumes": volumes}, annotations={WARM_FOR: "a/b/c"}
        )
        await world.phase("warm", "Running")
        uid = await world.create_pod(
            "member", spec("x", *show, volumeMounts=mounts) | {"volumes": volumes}, annotations={STEPS_IN: held_as}
        )
        await world.phase("member", "Failed")
        assert await world.log(uid) == "member"

    run_scenario(tmp_path, scenario, **GPUS)


def test_any_command_can_be_held(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world, "sh", "-c", "echo $ROLE $$$$; exit 7")
        pid = pid_of(world, held_as)
        uid = await member(world, held_as, "sh", "-c", "echo $ROLE $$$$; exit 7")
        pod = await world.phase("member", "Failed")
        assert (await world.log(uid)).split() == ["worker-1", str(pid)]
        assert state(pod)["state"]["terminated"]["exitCode"] == 7

    run_scenario(tmp_path, scenario, **GPUS)


def test_an_understudy_with_other_containers_leaves_its_seat_to_a_cold_start(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        pid = pid_of(world, held_as)
        limits = {"limits": {"nvidia.com/gpu": "2"}}
        uid = await member(world, held_as, resources=limits)
        words = (await world.logged(uid, "worker-1")).split()
        assert (words[1] != str(pid), words[2]) == (True, "0,1")
        await world.gone("warm")
        assert linux.start_ticks(pid) is None

    run_scenario(tmp_path, scenario, **GPUS)


def test_a_deleted_understudy_ends(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        pid = pid_of(world, held_as)
        await world.delete("warm", grace=1)
        uid = await member(world, held_as)
        await world.gone("warm")
        words = (await world.logged(uid, "worker-1")).split()
        assert words[1] != str(pid)

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "1"}),))


class Killed(BaseException):
    """Stops the agent at this point."""


LATE = ("activate_pod", "_activate_containers", "write_activation", "activate")
ASYNC = ("activate_pod", "_activate_containers")


@pytest.mark.parametrize("point", ["_exchange_folders", "linux.exchange", "_save_taken_over", *LATE])
def test_an_agent_that_is_killed_during_a_warm_start(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step, the next agent adopts the one process of the member, or starts one."""
    reached = asyncio.Event()

    def stop(*_: object) -> None:
        reached.set()
        raise asyncio.CancelledError if point in LATE else Killed

    async def stop_later(*_: object) -> None:
        stop()

    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        pid = pid_of(world, held_as)
        with monkeypatch.context() as patched:
            patched.setattr(f"{warm_start.__name__}.{point}", stop_later if point in ASYNC else stop)
            uid = await member(world, held_as)
            await reached.wait()
            with contextlib.nullcontext() if point in LATE else pytest.raises(BaseExceptionGroup):
                await world.stop_agent()
        await world.start_agent()
        words = (await world.logged(uid, "worker-1")).split()
        assert words[:2] == ["worker-1", str(pid)]
        await world.gone("warm")
        await world.phase("member", "Running")
        assert [line for line in (await world.log(uid)).splitlines() if line.startswith("worker-1")] == [
            " ".join(words)
        ]

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "1"}),))


def test_the_next_agent_adopts_the_member_under_its_own_name(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        uid = await member(world, held_as)
        await world.logged(uid, "worker-1")
        await world.gone("warm")
        await world.stop_agent()
        await world.start_agent()
        pid = pid_of(world, uid)
        os.kill(pid, 9)
        pod = await world.phase("member", "Failed")
        assert state(pod)["state"]["terminated"]["exitCode"] == 137

    run_scenario(tmp_path, scenario, **GPUS)


def test_a_member_that_is_deleted_while_no_agent_runs_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        held_as = await understudy(world)
        uid = await member(world, held_as)
        await world.logged(uid, "worker-1")
        pid = pid_of(world, uid)
        await world.stop_agent()
        await world.cluster.erase(Ref(PODS, "default", "member"))
        await world.start_agent()
        await until(lambda: not any(world.folder.pods.iterdir()))
        assert linux.start_ticks(pid) is None

    run_scenario(tmp_path, scenario, **GPUS)
