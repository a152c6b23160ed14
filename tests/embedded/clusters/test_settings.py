"""What a cluster is started with: what was asked, what it had, what is left over by others."""

import random
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.clusters.settings import LOCAL_NODE, node, settings
from understudy.embedded.cluster_folder import ClusterSettings, folder_of
from understudy.embedded.clusters.settings import (
    MachineState,
    RequestedSettings,
    all_clusters,
    is_port_free,
    resolve_settings,
    settings_differences,
)


def around(*others: ClusterSettings, taken: tuple[int, ...] = ()) -> MachineState:
    return MachineState(
        others=others,
        is_port_free=lambda _, port: port not in taken,
        local_node=lambda: LOCAL_NODE,
        chance=random.Random(0),
    )


def test_the_first_time_it_is_this_machine_on_loopback() -> None:
    made = resolve_settings(RequestedSettings(name="default"), None, around())
    assert (made.name, made.address, made.port, made.runtime) == ("default", "127.0.0.1", 16443, "process")
    assert made.nodes == (LOCAL_NODE,)
    assert made.pod_access == "service-account"
    assert made.pod_network.startswith("127.")


def test_a_port_that_is_taken_or_belongs_to_another_cluster_is_left_alone() -> None:
    made = resolve_settings(RequestedSettings(name="a"), None, around(settings("b", port=16444), taken=(16443,)))
    assert made.port == 16445


def test_pods_of_two_clusters_never_share_addresses() -> None:
    others = [settings(f"c{n}", pod_network=f"127.{n}.0.0/16") for n in range(16, 250)]
    assert resolve_settings(RequestedSettings(name="a"), None, around(*others)).pod_network == "127.250.0.0/16"


def test_the_next_time_it_is_as_it_was() -> None:
    loop = {"policy": {"backoff": 1.0}}
    before = settings(address="10.0.0.7", port=7777, runtime="docker", nodes=(node("a"), node("b")), loop=loop)
    before = msgspec.structs.replace(before, pod_access="admin")
    assert resolve_settings(RequestedSettings(name="test"), before, around()) == before


def test_this_machine_is_looked_at_anew() -> None:
    before = settings(nodes=({**LOCAL_NODE, "status": {"capacity": {"cpu": "1"}}},))
    assert resolve_settings(RequestedSettings(name="test"), before, around()).nodes == (LOCAL_NODE,)


def test_what_is_asked_for_wins() -> None:
    wanted = RequestedSettings(name="test", address="0.0.0.0", port=1234, runtime="podman", nodes=[node("new")])
    wanted = msgspec.structs.replace(wanted, pod_access="admin")
    made = resolve_settings(wanted, settings(), around())
    assert made.pod_access == "admin"
    assert (made.address, made.port, made.runtime, made.nodes) == ("0.0.0.0", 1234, "podman", (node("new"),))
    assert made.pod_network == settings().pod_network


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, []),
        ({"address": "127.0.0.1", "port": 16443, "runtime": "process", "nodes": [node("a")]}, []),
        ({"port": 1}, ["its port is 16443, not 1"]),
        ({"runtime": "docker"}, ["its runtime is process, not docker"]),
        ({"pod_access": "admin"}, ["its pod access is service-account, not admin"]),
        ({"pod_access": "service-account"}, []),
        ({"nodes": [node("a"), node("b")]}, ["it has other nodes than the file"]),
        ({"nodes": [node("a", zone="x")]}, ["it has other nodes than the file"]),
        ({"loop": {}}, []),
        ({"loop": {"policy": {"backoff": 1.0}}}, ["it has other settings"]),
    ],
)
def test_a_running_cluster_that_is_not_what_is_asked_for(asked: dict[str, Any], said: list[str]) -> None:
    assert settings_differences(RequestedSettings(name="test", **asked), settings(nodes=(node("a"),))) == said


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not is_port_free("127.0.0.1", port)
    assert is_port_free("127.0.0.1", port)
    assert not is_port_free("192.0.2.77", port)


def test_folders_that_are_no_clusters_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path))
    assert all_clusters() == {}
    for name, text in (("good", msgspec.json.encode(settings("good"))), ("bad", b"{"), ("empty", None)):
        folder = folder_of(name)
        folder.path.mkdir(parents=True)
        if text is not None:
            folder.settings.write_bytes(text)
    assert list(all_clusters()) == ["good"]
