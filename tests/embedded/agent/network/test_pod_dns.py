"""Pod DNS: lines that are added to and removed from hosts files, and pods that reach each other by name."""

from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import AgentWorld, run_scenario
from tests.embedded.disks import Room
from understudy.embedded.agent.api.pod_types import HostAlias
from understudy.embedded.agent.network.address_pool import AddressPool, AddressPoolExhausted
from understudy.embedded.agent.network.hosts_file import HostsFile
from understudy.embedded.agent.network.pod_dns import NamedPod, NamedService, PodNames, with_address
from understudy.objects.resources import SERVICES
from understudy.ports import Ref


def entries(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def pod(name: str, address: str, namespace: str = "default", **more: Any) -> NamedPod:
    return NamedPod(uid=f"uid-{name}", namespace=namespace, name=name, hostname=name, address=address, **more)


class TestHostsFile:
    def test_lines_come_and_go(self, tmp_path: Path) -> None:
        file = HostsFile(tmp_path / "hosts", "127.0.0.1 localhost", {"a": "127.64.0.1 a"})
        file.put("b", "127.64.0.2 b")
        file.put("c", "127.64.0.3 c")
        file.drop("b")
        file.drop("unknown")
        assert entries(tmp_path / "hosts") == ["127.0.0.1 localhost", "127.64.0.1 a", "127.64.0.3 c"]
        file.put("c", "127.64.0.4 c")
        assert entries(tmp_path / "hosts") == ["127.0.0.1 localhost", "127.64.0.1 a", "127.64.0.4 c"]
        file.close()

    def test_lines_lost_on_a_full_disk_are_written_once_there_is_room(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, room = tmp_path / "hosts", Room(monkeypatch)
        file = HostsFile(path, "127.0.0.1 localhost", {"a": "127.64.0.1 a"})
        room.bytes = 5
        file.put("b", "127.64.0.2 b")
        file.put("c", "127.64.0.3 c")
        file.drop("a")
        assert file.is_stale
        assert path.read_text() == "127.0.0.1 localhost\n127.64.0.1 a\n", "no half of a line"
        room.bytes = 10
        file.restore()
        assert path.read_text() == "127.0.0.1 localhost\n127.64.0.2 b\n", "as far as there is room"
        room.bytes = None
        file.restore()
        assert entries(path) == ["127.0.0.1 localhost", "127.64.0.2 b", "127.64.0.3 c"]
        file.put("d", "127.64.0.4 d")
        assert entries(path)[-1] == "127.64.0.4 d"
        file.close()

    def test_the_file_is_never_replaced(self, tmp_path: Path) -> None:
        """Pods have the file mounted: another file of the same name would not reach them."""
        path = tmp_path / "hosts"
        first = HostsFile(path, "127.0.0.1 localhost", {"old": "127.64.0.9 old"})
        first.close()
        inode = path.stat().st_ino
        second = HostsFile(path, "127.0.0.1 localhost", {})
        for number in range(3000):
            second.put("x", f"127.64.0.1 a-rather-long-name-number-{number}")
        assert path.stat().st_ino == inode
        assert entries(path) == ["127.0.0.1 localhost", "127.64.0.1 a-rather-long-name-number-2999"]
        assert path.stat().st_size < 3000 * 40, "lines that have gone are cleared away in time"
        second.close()


class TestDirectory:
    def test_names_within_and_across_namespaces(self, tmp_path: Path) -> None:
        names = PodNames(tmp_path, "127.0.0.1 localhost")
        near, far = names.hosts_file_of("default"), names.hosts_file_of("other")
        names.add_pod(pod("w-0", "127.64.0.1", subdomain="js"))
        qualified = "w-0.js.default w-0.js.default.svc w-0.js.default.svc.cluster.local"
        assert entries(near)[1:] == [f"127.64.0.1 w-0 w-0.js {qualified}"]
        assert entries(far)[1:] == [f"127.64.0.1 {qualified}"]
        names.remove_pod("uid-w-0")
        assert len(entries(near)) == len(entries(far)) == 1
        names.close()

    def test_a_service_has_the_addresses_of_all_its_pods(self, tmp_path: Path) -> None:
        names = PodNames(tmp_path, "")
        file = names.hosts_file_of("default")
        names.add_pod(pod("a", "127.64.0.1", labels={"app": "db"}))
        names.add_service(NamedService("default", "db", {"app": "db"}))
        names.add_pod(pod("b", "127.64.0.2", labels={"app": "db"}))
        names.add_pod(pod("c", "127.64.0.3", labels={"app": "web"}))
        assert [line.split()[0] for line in entries(file) if "db.default" in line] == ["127.64.0.1", "127.64.0.2"]
        names.remove_pod("uid-a")
        names.add_pod(pod("c", "127.64.0.3", labels={"app": "db"}))
        assert [line.split()[0] for line in entries(file) if "db.default" in line] == ["127.64.0.2", "127.64.0.3"]
        names.remove_service("default", "db")
        assert not [line for line in entries(file) if "db.default" in line]
        names.close()

    def test_files_made_later_hold_what_came_before(self, tmp_path: Path) -> None:
        names = PodNames(tmp_path, "")
        names.add_service(NamedService("default", "db", {"app": "db"}))
        names.add_pod(pod("a", "127.64.0.1", labels={"app": "db"}))
        assert any("db.default.svc.cluster.local" in line for line in entries(names.hosts_file_of("late")))
        names.close()

    def test_host_aliases_are_in_the_hosts_file_of_their_pod(self, tmp_path: Path) -> None:
        names = PodNames(tmp_path, "127.0.0.1 localhost")
        own = pod("own", "127.64.0.1")
        names.add_pod(own)
        path = names.private_hosts(own, (HostAlias("10.0.0.1", ("old.example", "older.example")),), tmp_path / "mine")
        names.add_pod(pod("peer", "127.64.0.2"))
        assert "10.0.0.1 old.example older.example" in entries(path)
        assert "127.64.0.2 peer" in entries(path)
        names.remove_pod("uid-own")
        names.close()

    @pytest.mark.parametrize("namespace", ["../etc", "", "UPPER", "a/b"])
    def test_a_namespace_cannot_be_a_path(self, tmp_path: Path, namespace: str) -> None:
        with pytest.raises(ValueError, match="is not the name of a namespace"):
            PodNames(tmp_path, "").hosts_file_of(namespace)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("w-0", "127.64.0.1"),
            ("w-0:29500", "127.64.0.1:29500"),
            ("http://w-0.js:80/path", "http://127.64.0.1:80/path"),
            ("w-0.js.default.svc.cluster.local", "127.64.0.1"),
            ("w-1", "w-1"),
            ("w-0 and more", "w-0 and more"),
        ],
    )
    def test_values_that_are_names_become_addresses(self, tmp_path: Path, text: str, expected: str) -> None:
        names = PodNames(tmp_path, "")
        names.add_pod(pod("w-0", "127.64.0.1", subdomain="js"))
        assert with_address(text, "default", names) == expected


class TestAddresses:
    def test_every_pod_has_another_address(self) -> None:
        addresses = AddressPool("127.99.0.0/24")
        given = {addresses.take(f"uid-{n}", f"default/pod-{n}") for n in range(254)}
        assert len(given) == 254
        assert all(address.startswith("127.99.0.") for address in given)
        with pytest.raises(AddressPoolExhausted, match="all addresses"):
            addresses.take("uid-late", "default/late")

    def test_a_recreated_pod_has_the_same_address(self) -> None:
        addresses = AddressPool()
        first = addresses.take("uid-1", "default/master-0")
        assert addresses.take("uid-2", "default/master-0") != first, "not while the other one is there"
        assert addresses.take("uid-1", "default/master-0") == first
        addresses.release("uid-1")
        assert addresses.take("uid-3", "default/master-0") == first
        assert addresses.take("uid-2", "default/master-0") != first, "a pod keeps its address"

    def test_addresses_given_before_a_restart_are_not_given_again(self) -> None:
        address = AddressPool().take("uid-1", "default/a")
        again = AddressPool()
        again.restore("uid-1", address)
        assert again.take("uid-2", "default/a") != address
        again.release("uid-2")
        again.release("unknown")
        assert again.take("uid-3", "default/a") != address, "a release by another pod frees nothing"


SERVER = """
import http.server, os, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(os.environ["HOSTNAME"].encode())
http.server.HTTPServer((sys.argv[1], 8123), Handler).serve_forever()
"""
CLIENT = """
import sys, time, urllib.request
for name in sys.argv[1:]:
    for attempt in range(400):
        try:
            print(name, urllib.request.urlopen(f"http://{name}:8123", timeout=30).read().decode(), flush=True)
            break
        except OSError:
            time.sleep(0.02)
    else:
        print(name, "not reached", flush=True)
"""


def test_pods_reach_each_other_by_name(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        names = ["peer", "peer.ring", "peer.ring.default.svc.cluster.local", "everyone"]
        client = {"name": "main", "command": ["python", "-c", CLIENT, *names]}
        uid = await world.create_pod("client", {"containers": [client], "restartPolicy": "Never"})
        await world.phase("client", "Running")
        service = {"metadata": {"name": "everyone"}, "spec": {"selector": {"app": "ring"}}}
        await world.cluster.create(Ref(SERVICES, "default"), service)
        peer = {"name": "main", "command": ["python", "-c", SERVER, "peer"]}
        await world.create_pod("peer", {"containers": [peer], "subdomain": "ring"}, labels={"app": "ring"})
        await world.phase("client", "Succeeded", "Failed")
        assert await world.log(uid) == "".join(f"{name} peer\n" for name in names)

    run_scenario(tmp_path, scenario)


def test_a_pod_knows_its_own_name(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        script = "import socket; print(socket.gethostname(), socket.gethostbyname(socket.gethostname()))"
        main = {"name": "main", "command": ["python", "-c", script]}
        uid = await world.create_pod("me", {"containers": [main], "restartPolicy": "Never", "hostname": "worker-0"})
        pod = await world.phase("me", "Succeeded", "Failed")
        assert await world.log(uid) == f"worker-0 {pod['status']['podIP']}\n"

    run_scenario(tmp_path, scenario)
