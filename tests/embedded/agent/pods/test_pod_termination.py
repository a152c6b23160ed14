"""Termination of pods: SIGTERM, then SIGKILL; and what happens when shims, fork server or agent are killed."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.embedded.agent.agent_world import AgentWorld, node, run_scenario, state
from tests.eventually import eventually_async
from understudy.embedded.shim import container_files, linux
from understudy.embedded.shim.container_files import ShimState
from understudy.embedded.shim.pod_folders import pod_folder
from understudy.objects.resources import PODS
from understudy.ports import PatchForm, Ref

PATIENT = "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.02; done"
DEAF = "trap '' TERM; echo up; while :; do sleep 0.02; done"


def container_state(world: AgentWorld, uid: str) -> ShimState:
    found = container_files.read(pod_folder(world.folder.pods, uid).attempt("main", 0).state, ShimState)
    assert found is not None
    return found


def is_running(pid: int) -> bool:
    """Zombies do not count."""
    return linux.start_ticks(pid) is not None


def test_a_deleted_pod_gets_sigterm_and_is_removed(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("polite", PATIENT)
        await world.logged(uid, "up")
        follow = asyncio.create_task(world.log(uid, follow=True))
        await world.delete("polite", grace=20)
        await world.gone("polite")
        assert await follow == "up\nasked\n"
        assert "Killing" in dict(world.cluster.events("polite"))
        last = world.cluster.writes.index(("delete", "/api/v1/namespaces/default/pods/polite"))
        assert ("patch", "/api/v1/namespaces/default/pods/polite/status") in world.cluster.writes[last - 4 :]

    run_scenario(tmp_path, scenario)


def test_a_pod_that_ignores_sigterm_is_killed_after_its_grace_period(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("deaf", DEAF)
        await world.logged(uid, "up")
        pid = container_state(world, uid).pid
        began = time.monotonic()
        await world.delete("deaf", grace=1)
        await world.gone("deaf")
        assert time.monotonic() - began >= 1
        assert not is_running(pid)

    run_scenario(tmp_path, scenario)


def test_a_pod_gets_the_stop_signal_it_asked_for(tmp_path: Path) -> None:
    """A signal that cannot be caught is refused."""
    script = "trap 'echo USR1; exit 0' USR1; trap 'echo TERM; exit 0' TERM; echo up; while :; do sleep 0.02; done"

    async def scenario(world: AgentWorld) -> None:
        for name, asked, sent in (("own", "usr1", "USR1"), ("wrong", "SIGKILL", "TERM")):
            container = {
                "name": "main",
                "image": "any",
                "command": ["sh", "-c", f"echo $UNDERSTUDY_STOP_SIGNAL; {script}"],
            }
            annotations = {"understudy.dev/checkpoint-signal": asked}
            uid = await world.create_pod(name, {"containers": [container]}, annotations=annotations)
            await world.logged(uid, "up")
            follow = asyncio.create_task(world.log(uid, follow=True))
            await world.delete(name, grace=20)
            await world.gone(name)
            assert await follow == f"{'SIGUSR1' if sent == 'USR1' else ''}\nup\n{sent}\n"
        assert "'SIGKILL' is not a signal that can be caught" in dict(world.cluster.events("wrong"))["BadSignal"]

    run_scenario(tmp_path, scenario)


def test_a_pod_that_is_deleted_by_force_is_killed_at_once(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("forced", DEAF)
        await world.logged(uid, "up")
        pid = container_state(world, uid).pid
        await world.cluster.erase(Ref(PODS, "default", "forced"))
        await eventually_async(lambda: not (is_running(pid) or (world.folder.pods / uid).exists()))

    run_scenario(tmp_path, scenario)


def test_hooks_run_around_the_life_of_a_container(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        hooks = {
            "postStart": {"exec": {"command": ["sh", "-c", "echo started > hooks"]}},
            "preStop": {"exec": {"command": ["sh", "-c", "echo before stop >> hooks"]}},
        }
        script = "trap 'cat hooks; exit 0' TERM; echo up; while :; do sleep 0.02; done"
        main = {"name": "main", "command": ["sh", "-c", script], "lifecycle": hooks}
        uid = await world.create_pod("hooked", {"containers": [main], "restartPolicy": "Never"})
        await world.logged(uid, "up")
        await eventually_async(lambda: (world.folder.pods / uid / "root" / "hooks").exists())
        follow = asyncio.create_task(world.log(uid, follow=True))
        await world.delete("hooked", grace=20)
        assert await follow == "up\nstarted\nbefore stop\n"
        await world.gone("hooked")

    run_scenario(tmp_path, scenario)


def test_pods_outlive_an_agent_and_the_next_one_adopts_them(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        runs = await world.run_pod("runs", PATIENT)
        ends = await world.run_pod("ends", "until test -e /tmp/none -o -e now; do sleep 0.01; done; exit 5")
        goes = await world.run_pod("goes", DEAF)
        for uid, text in ((runs, "up"), (goes, "up")):
            await world.logged(uid, text)
        for name in ("runs", "ends", "goes"):
            await world.phase(name, "Running")
        pids = {uid: container_state(world, uid).pid for uid in (runs, ends, goes)}
        await world.stop_agent()
        (world.folder.pods / ends / "root" / "now").touch()
        await eventually_async(lambda: not is_running(pids[ends]))
        world.cluster.objects.pop((PODS.key, "default", "goes"))
        assert is_running(pids[runs])
        assert is_running(pids[goes])

        await world.start_agent()
        pod = await world.phase("ends", "Failed")
        assert state(pod)["state"]["terminated"]["exitCode"] == 5
        await eventually_async(lambda: not is_running(pids[goes]))
        assert is_running(pids[runs])
        assert state(world.cluster.pod("runs"))["restartCount"] == 0
        await world.delete("runs", grace=20)
        await world.gone("runs")
        assert not is_running(pids[runs])

    run_scenario(tmp_path, scenario)


def test_pods_outlive_the_fork_server_and_new_pods_get_a_new_one(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("old", PATIENT)
        await world.logged(uid, "up")
        await world.phase("old", "Running")
        for name in os.listdir("/proc"):
            if name.isdecimal() and _is_fork_server(int(name), world):
                os.kill(int(name), signal.SIGKILL)
        await world.run_pod("new", "exit 0")
        await world.phase("new", "Succeeded")
        await world.delete("old", grace=20)
        await world.gone("old")

    run_scenario(tmp_path, scenario)


def _is_fork_server(pid: int, world: AgentWorld) -> bool:
    """Shims have the same command line, but another process name."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return False
    return os.fsencode(world.folder.path / "fork-server") in line and name == "understudy-fork"


@pytest.mark.parametrize("policy", ["Never", "Always"])
def test_a_container_whose_shim_is_killed_has_failed(tmp_path: Path, policy: str) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = "setsid sh -c 'echo $$$$; exec sleep 1000' & sleep 1000"
        uid = await world.run_pod("bereft", script, restartPolicy=policy)
        child = int((await world.logged(uid, "\n")).strip())
        await world.phase("bereft", "Running")
        old = container_state(world, uid)
        os.kill(old.shim, signal.SIGKILL)
        if policy == "Never":
            pod = await world.phase("bereft", "Failed")
            assert state(pod)["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
        else:
            await world.cluster.until(lambda: state(world.cluster.pod("bereft"))["restartCount"] == 1)
        # They have a pending SIGKILL and die when they are scheduled.
        await eventually_async(lambda: not (is_running(old.pid) or is_running(child)))

    run_scenario(tmp_path, scenario)


def test_pods_run_on_while_the_api_is_unreachable_and_are_reported_later(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("patient", "until test -e now; do sleep 0.01; done; exit 4")
        await world.phase("patient", "Running")
        world.cluster.reachable = False
        (world.folder.pods / uid / "root" / "now").touch()
        exit_file = pod_folder(world.folder.pods, uid).attempt("main", 0).exit
        await eventually_async(lambda: exit_file.exists())
        world.cluster.reachable = True
        pod = await world.phase("patient", "Failed")
        assert state(pod)["state"]["terminated"]["exitCode"] == 4

    run_scenario(tmp_path, scenario)


def test_a_start_that_was_ordered_and_not_carried_out_is_repeated(tmp_path: Path) -> None:
    """The earlier agent was killed after it had prepared everything and before the fork server got the order."""

    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("cut", "echo ran")
        await world.phase("cut", "Succeeded")
        await world.stop_agent()
        attempt = pod_folder(world.folder.pods, uid).attempt("main", 0)
        for left in (attempt.state, attempt.exit, attempt.log):
            left.unlink()
        world.cluster.pod("cut")["status"] = {"phase": "Pending"}
        await world.start_agent()
        pod = await world.phase("cut", "Succeeded")
        assert await world.log(uid) == "ran\n"
        assert state(pod)["restartCount"] == 0

    run_scenario(tmp_path, scenario)


def test_a_container_whose_shim_was_killed_while_no_agent_watched_has_failed(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("unseen", "sleep 1000")
        await world.phase("unseen", "Running")
        await world.stop_agent()
        kept = container_state(world, uid)
        os.kill(kept.shim, signal.SIGKILL)
        await eventually_async(lambda: not is_running(kept.pid))
        await world.start_agent()
        pod = await world.phase("unseen", "Failed")
        assert state(pod)["state"]["terminated"]["reason"] == "ContainerStatusUnknown"

    run_scenario(tmp_path, scenario)


def test_a_pod_keeps_its_address_and_devices_over_a_restart_of_the_agent(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = {"name": "main", "command": ["sleep", "1000"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        await world.create_pod("keeps", {"containers": [main]})
        address = (await world.phase("keeps", "Running"))["status"]["podIP"]
        await world.stop_agent()
        await world.start_agent()
        waiting = await world.create_pod("wants", {"containers": [main]})
        await world.cluster.until(lambda: "FailedCreatePodSandBox" in dict(world.cluster.events("wants")))
        assert world.cluster.pod("keeps")["status"]["podIP"] == address
        await world.delete("keeps", grace=5)
        await world.phase("wants", "Running")
        assert (world.folder.pods / waiting).exists()

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "1"}),))


def test_a_pod_held_by_a_finalizer_is_removed_once(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("held", PATIENT)
        await world.logged(uid, "up")
        erase = world.cluster.erase

        async def hold(ref: Ref) -> None:
            """The server keeps the pod; only its metadata changes."""
            await world.cluster.patch(ref, {"metadata": {"labels": {"held": "yes"}}}, form=PatchForm.MERGE)

        world.cluster.erase = hold  # type: ignore[method-assign]
        await world.delete("held", grace=5)
        await world.cluster.until(lambda: world.cluster.pod("held")["metadata"].get("labels") == {"held": "yes"})
        await world.cluster.patch(
            Ref(PODS, "default", "held"), {"metadata": {"labels": {"x": "y"}}}, form=PatchForm.MERGE
        )
        marker = await world.run_pod("marker", "exit 0")
        await world.phase("marker", "Succeeded")
        world.cluster.erase = erase  # type: ignore[method-assign]
        removals = [path for verb, path in world.cluster.writes if verb == "delete" and path.endswith("/held")]
        assert len(removals) == 2, "the user's, and one of the agent's"
        assert marker

    run_scenario(tmp_path, scenario)
