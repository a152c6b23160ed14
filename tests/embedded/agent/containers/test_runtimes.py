"""Containers run by docker or podman: the command lines, and a fake runtime."""

from pathlib import Path

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario, state
from tests.embedded.agent.test_agent_socket import outcome, request
from understudy.embedded.agent.containers.control_groups import ContainerLimits
from understudy.embedded.agent.containers.machine import RuntimeNotInstalled, tool_for
from understudy.embedded.agent.containers.runtimes import (
    ContainerRuntime,
    RuntimeRequest,
    exec_line,
    remove_line,
    run_line,
)
from understudy.embedded.agent_protocol import STDOUT
from understudy.embedded.shim.container_files import Mount

DOCKER = ContainerRuntime("/usr/bin/docker", "docker")
WANTED = RuntimeRequest(
    name="understudy-x",
    image="trainer:1",
    command=("python", "-u"),
    args=("train.py",),
    values={"COLOUR": "blue", "PATH": "/opt/bin"},
    cwd="/workspace",
    hostname="worker-0",
    mounts=(Mount("/data/v", "/v", read_only=True),),
    limits=ContainerLimits(1500, 1024),
    devices={"nvidia.com/gpu": ("2", "3")},
)


def test_a_container_as_a_command_line() -> None:
    line, env = run_line(DOCKER, WANTED, {"PATH": "/bin", "HOME": "/root"})
    assert " ".join(line) == (
        "/usr/bin/docker run --rm --name understudy-x --network host --hostname worker-0 --volume /data/v:/v:ro "
        "--env COLOUR --env PATH=/opt/bin --workdir /workspace --cpus 1.5 --memory 1024 "
        '--gpus "device=2,3" --entrypoint python trainer:1 -u train.py'
    )
    assert env == {"COLOUR": "blue", "PATH": "/bin", "HOME": "/root"}


def test_podman_names_devices_one_by_one() -> None:
    line, _ = run_line(ContainerRuntime("podman", "podman"), WANTED, {})
    assert "--device nvidia.com/gpu=2 --device nvidia.com/gpu=3" in " ".join(line)


def test_exec_and_remove_command_lines() -> None:
    assert exec_line(DOCKER, "x", ["ls", "-l"], tty=True)[1:] == ("exec", "--interactive", "--tty", "x", "ls", "-l")
    assert remove_line(DOCKER, "x") == ("/usr/bin/docker", "rm", "--force", "x")


def test_a_runtime_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        RuntimeNotInstalled, match="--runtime podman was asked for, and there is no podman on this machine"
    ):
        tool_for("podman")


FAKE_DOCKER = """#!/bin/sh
echo "$@" >> {calls}
verb=$1; shift
case $verb in
  run) while [ $# -gt 0 ]; do case $1 in --entrypoint) entry=$2; shift 2;; image) shift; break;; *) shift;; esac; done
       exec "$entry" "$@";;
  exec) shift 2; exec "$@";;
  rm) exit 0;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake docker that runs the command on this machine, and the list of its calls."""
    tools, calls = tmp_path / "tools", tmp_path / "calls"
    tools.mkdir()
    (tools / "docker").write_text(FAKE_DOCKER.format(calls=calls))
    (tools / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return calls


def test_pods_run_in_containers_of_the_chosen_runtime(tmp_path: Path, calls: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = 'echo "$COLOUR"; trap "exit 9" TERM; while :; do sleep 0.02; done'
        main = {
            "name": "main",
            "image": "image",
            "command": ["sh", "-c", script],
            "env": [{"name": "COLOUR", "value": "blue"}],
        }
        uid = await world.create_pod("boxed", {"containers": [main], "restartPolicy": "Never"})
        assert await world.logged(uid, "\n") == "blue\n"
        pod = await world.phase("boxed", "Running")
        assert state(pod)["containerID"] == f"docker://{uid}/main/0"
        said, code = await outcome(world, request(uid, "echo", "inside"))
        assert (said[STDOUT], code) == ("inside\n", 0)
        await world.delete("boxed", grace=10)
        await world.gone("boxed")
        name = f"understudy-{uid}-main-0"
        told = calls.read_text().splitlines()
        assert told[0].startswith(f"run --rm --name {name} --network host --hostname boxed")
        assert told[1:] == [f"exec --interactive {name} echo inside", f"rm --force {name}"]

    run_scenario(tmp_path, scenario, runtime="docker")


def test_a_container_runtime_needs_no_command(tmp_path: Path, calls: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        spec = {"containers": [{"name": "main", "image": "image", "args": ["x"]}], "restartPolicy": "Never"}
        await world.create_pod("plain", spec)
        await world.phase("plain", "Failed")  # the fake has no images, so it runs no command
        assert calls.read_text().splitlines()[0].endswith("image x")

    run_scenario(tmp_path, scenario, runtime="docker")
