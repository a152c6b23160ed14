"""Without private mounts, paths and names are rewritten, and volumes are below the pod's folder."""

from pathlib import Path

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from understudy.embedded.agent.containers import machine
from understudy.embedded.agent.containers.launch_spec import relocated
from understudy.embedded.shim import messages


@pytest.fixture(autouse=True)
def no_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_for = machine.machine_for
    denied = messages.Hello(mounts=False, why_not="Operation not permitted")
    monkeypatch.setattr(
        "understudy.embedded.agent.agent.machine_for",
        lambda folder, settings, _, server: machine_for(folder, settings, denied, server),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/pod/v"),
        ("/data/x", "/pod/v/x"),
        ("/data/deep/x", "/pod/w/x"),
        ("/database", "/database"),
        ("see /data", "see /data"),
    ],
)
def test_paths_below_a_mount_point_move(text: str, expected: str) -> None:
    assert relocated(text, {"/data": "/pod/v", "/data/deep": "/pod/w"}) == expected


def test_a_variable_names_the_folder_of_the_service_account(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("one", "cat $UNDERSTUDY_SERVICE_ACCOUNT/token $UNDERSTUDY_SERVICE_ACCOUNT/namespace")
        await world.phase("one", "Succeeded", "Failed")
        assert await world.log(uid) == "secretdefault"

    run_scenario(tmp_path, scenario)


def test_volumes_are_found_by_rewritten_paths(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        main = {
            "name": "main",
            "command": [
                "sh",
                "-c",
                "cp $0 $OUT; pwd; ls understudy-flat/v; echo $UNDERSTUDY_MOUNTS",
                "/understudy-flat/v/in",
            ],
            "env": [{"name": "OUT", "value": "/understudy-flat/v/out"}],
            "volumeMounts": [{"name": "v", "mountPath": "/understudy-flat/v"}],
        }
        first = {**main, "name": "first", "command": ["touch", "/understudy-flat/v/in"]}
        spec = {
            "initContainers": [first],
            "containers": [main],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "restartPolicy": "Never",
        }
        uid = await world.create_pod("flat", spec)
        await world.phase("flat", "Succeeded", "Failed")
        pwd, one, two, mounts = (await world.log(uid)).splitlines()
        assert pwd == str(world.folder.pods / uid / "root")
        assert (one, two) == ("in", "out")
        assert '"/understudy-flat/v":' in mounts

    run_scenario(tmp_path, scenario)


def test_values_that_are_names_of_pods_become_their_addresses(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("master", "sleep 1000", subdomain="ring")
        pod = await world.phase("master", "Running")
        address = pod["status"]["podIP"]
        env = [{"name": "MASTER_ADDR", "value": "master.ring"}, {"name": "URL", "value": "http://master:80"}]
        main = {"name": "main", "command": ["sh", "-c", "echo $MASTER_ADDR $URL"], "env": env}
        uid = await world.create_pod("worker", {"containers": [main], "restartPolicy": "Never"})
        await world.phase("worker", "Succeeded", "Failed")
        assert await world.log(uid) == f"{address} http://{address}:80\n"

    run_scenario(tmp_path, scenario)
