"""Clusters that really run, from `understudy up` to `understudy reset`, through crashes of all they consist of."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.cli.shell import Shell
from understudy.client import connect
from understudy.embedded.cluster_folder import ClusterFolder, folder_of
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER, SUPERVISOR
from understudy.objects.resources import CONFIG_MAPS, JOBS, PODS
from understudy.ports import ChangeType, Ref

PATIENCE = 90.0
LOOP = "trap 'exit 3' TERM; while true; do sleep 0.05; done"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "worker", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "any", "command": ["sh", "-c", LOOP]}]},
}


@pytest.fixture
def cluster(shell: Shell) -> Iterator[Shell]:
    yield shell
    shell.run("down", "--all", "--now")


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def up(shell: Shell, *arguments: str) -> str:
    code, out, err = shell.run("up", "--detach", *arguments)
    assert (code, err) == (0, "")
    return out


def status(shell: Shell) -> Any:
    return json.loads(shell.run("status", "-o", "json")[1])["clusters"][0]


def pid(shell: Shell, part: str) -> int:
    return int(status(shell)["parts"][part]["pid"])


def running_pod(folder: ClusterFolder, create: bool = True) -> int:
    """Creates the pod where asked to, and waits until it runs; its process id.

    Right after `up` the API still tells of the process that `down` ended: only one that lives counts.
    """

    async def wait() -> int:
        async with asyncio.timeout(PATIENCE), connect(folder.kubeconfig) as client:
            if create:
                await client.create(Ref(PODS, "default"), POD)
            async for change in client.follow(PODS):
                if change.type is not ChangeType.SYNCED:
                    pod = msgspec.json.decode(change.raw)
                    statuses = pod.get("status", {}).get("containerStatuses", [])
                    alive = pod_processes.running_containers(folder)
                    if alive and any("running" in one["state"] for one in statuses):
                        [state] = alive
                        return state.pid
        raise AssertionError("the watch of pods ended")

    return asyncio.run(wait())


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_stored_is_there_after_down_and_up(cluster: Shell) -> None:
    out = up(cluster, "--port", free_port())
    assert re.match(r"cluster default \(1 node, https://127.0.0.1:\d+\) is up after \d\.\d s\n", out)
    folder = folder_of("default")
    process = running_pod(folder)
    found = status(cluster)
    assert (found["state"], found["readyNodes"], found["pods"]) == ("up", 1, {"Running": 1})
    assert cluster.run("down")[1] == "cluster default is down\n"
    assert not is_alive(process)
    assert status(cluster)["state"] == "down"
    assert up(cluster).startswith(f"cluster default (1 node, {found['server']}) is up")
    assert running_pod(folder, create=False) != process  # started anew, as its restart policy says


def test_a_job_goes_on_after_down_and_up_and_spends_no_retry_on_it(cluster: Shell) -> None:
    command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    polite = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": command}]}
    job = {"metadata": {"name": "train"}, "spec": {"backoffLimit": 0, "template": {"spec": polite}}}
    up(cluster, "--port", free_port())
    folder = folder_of("default")

    async def begun() -> None:
        async with connect(folder.kubeconfig) as client:
            await client.create(Ref(JOBS, "default"), job)

    asyncio.run(begun())
    before = running_pod(folder, create=False)
    assert cluster.run("down")[0] == 0
    up(cluster)
    assert running_pod(folder, create=False) != before

    async def standing() -> Any:
        async with connect(folder.kubeconfig) as client:
            return msgspec.json.decode(await client.get(Ref(JOBS, "default", "train")))["status"]

    found = asyncio.run(standing())
    assert (found.get("active"), found.get("succeeded", 0), found.get("conditions", [])) == (1, 0, [])


def test_pods_live_through_crashes_of_everything_else(cluster: Shell) -> None:
    up(cluster, "--port", free_port())
    folder = folder_of("default")
    process = running_pod(folder)
    for part in (SERVER, CONTROL, AGENT):
        before = pid(cluster, part)
        os.kill(before, signal.SIGKILL)
        while (now := status(cluster)["parts"][part]) is None or now["pid"] == before:
            pass
    os.kill(pid(cluster, SUPERVISOR), signal.SIGKILL)
    while status(cluster)["parts"][SUPERVISOR] is not None:
        pass
    assert status(cluster)["state"] == "partly up"
    up(cluster)
    assert status(cluster)["state"] == "up"
    assert running_pod(folder, create=False) == process


def test_a_cluster_follows_its_file(cluster: Shell) -> None:
    cluster.write(one="name: c\npools: [{name: a, count: 2}, {name: b}]", two="name: c\npools: [{name: a}, {name: d}]")
    out = up(cluster, "-f", "one.yaml", "--port", free_port())
    assert "understudy down --name c           stops it; `understudy up --name c` brings it back\n" in out
    assert status(cluster)["readyNodes"] == 3
    assert "it has other nodes than the file" in cluster.refuses("up", "-f", "two.yaml")
    cluster.run("down")
    up(cluster, "-f", "two.yaml")
    found = status(cluster)
    assert (found["name"], found["nodes"], found["readyNodes"]) == ("c", 2, 2)


def test_in_the_foreground_it_runs_until_it_is_interrupted(cluster: Shell) -> None:
    command = [sys.executable, "-m", "understudy", "up", "--port", free_port()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = list(iter(process.stdout.readline, "Ctrl-C stops it, and its pods.\n"))
        assert " is up after " in lines[0]
        container = running_pod(folder_of("default"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out == "cluster default is down; `understudy up` brings it back with its objects\n"
    assert "stopping 1 container, 30 s at most" in err
    assert not is_alive(container)
    assert status(cluster)["state"] == "down"


def test_a_cluster_that_does_not_come_up_says_why(cluster: Shell) -> None:
    folder = folder_of("default")
    folder.path.mkdir(parents=True)
    folder.database.write_bytes(b"this is no database" * 1000)
    code, out, err = cluster.run("up", "--detach", "--wait", "8", "--port", free_port())
    assert (code, out) == (1, "")
    assert err.startswith("understudy: cluster default did not come up: after 8 s the API does not answer\n")
    assert str(folder.logs / "server.log") in err
    assert status(cluster)["state"] == "down"


def test_two_clusters_side_by_side_know_nothing_of_each_other(cluster: Shell) -> None:
    for name in ("one", "two"):
        up(cluster, "--name", name, "--port", free_port())

    async def write_and_read() -> list[str]:
        async with connect(folder_of("one").kubeconfig) as one, connect(folder_of("two").kubeconfig) as two:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
            await one.create(Ref(CONFIG_MAPS, "default"), body)
            listed = msgspec.json.decode(await two.request("GET", CONFIG_MAPS.path("default")))
            return [item["metadata"]["name"] for item in listed["items"]]

    assert "mine" not in asyncio.run(write_and_read())
    assert cluster.run("reset", "--name", "one", "--yes")[0] == 0
    assert [found["name"] for found in json.loads(cluster.run("status", "-o", "json")[1])["clusters"]] == ["two"]
    assert status(cluster)["state"] == "up"
