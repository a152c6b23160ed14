"""Servers to measure, each started afresh and ended after: ours, and a real kube-apiserver where one is at hand."""

import contextlib
import datetime
import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.embedded.http_client import Target
from tests.kube.cluster import processes
from tests.kube.cluster.control_plane import control_plane
from tests.kube.cluster.identities import ADMIN
from tests.kube.cluster.processes import Process
from tests.kube.cluster.programs import missing
from tests.kube.cluster.releases import APISERVER, ETCD
from tests.kube.cluster.settings import Settings
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters import certificates

TOKEN = "bench-token"
START_SECONDS = 60.0


class Running(msgspec.Struct, frozen=True):
    target: Target
    processes: tuple[int, ...]

    def resident_bytes(self) -> int:
        return sum(resident_bytes(process) for process in self.processes)


def resident_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


@contextlib.contextmanager
def ours() -> Iterator[Running]:
    """The API server of an embedded cluster, without its scheduler and agent, as it runs under `understudy up`."""
    with tempfile.TemporaryDirectory() as place:
        folder = ClusterFolder(Path(place))
        target = Target("127.0.0.1", processes.free_port(), str(folder.authority), TOKEN)
        _identify(folder)
        folder.tokens.write_text(f"{TOKEN},bench,system:masters\n")
        settings = {"name": "bench", "address": target.host, "port": target.port, "nodes": []}
        folder.settings.write_bytes(msgspec.json.encode(settings))
        command = [sys.executable, "-m", "understudy.embedded", "server", place]
        with processes.running(command, folder.path / "server.log") as process:
            _wait_for(target, process)
            yield Running(target, (process.pid,))


def peer_at_hand() -> bool:
    """Whether etcd and kube-apiserver are installed; nothing is built for the sake of a measurement."""
    return not missing((ETCD, APISERVER))


@contextlib.contextmanager
def kubernetes() -> Iterator[Running]:
    """etcd and kube-apiserver as they come, on loopback, with a token and no service accounts to wait for."""
    settings = Settings(durable=True, apiserver_flags=("--disable-admission-plugins=ServiceAccount",))
    with processes.folder() as place, control_plane(place, settings) as plane:
        where = urlsplit(plane.server)
        assert where.hostname is not None
        assert where.port is not None
        target = Target(where.hostname, where.port, str(plane.identities.authority), plane.users.tokens[ADMIN])
        yield Running(target, tuple(process.pid for process in plane.processes))


def _identify(folder: ClusterFolder) -> None:
    made = certificates.identity("bench", ("localhost", "127.0.0.1"), datetime.datetime.now(datetime.UTC))
    folder.authority.write_bytes(made.authority)
    folder.certificate.write_bytes(made.certificate)
    folder.private_key.write_bytes(made.key)


def _wait_for(target: Target, process: Process) -> None:
    def served() -> bool:
        return b" 200 " in _asked(target, "/readyz").split(b"\r\n", 1)[0]

    processes.wait_until(served, "the server answers", START_SECONDS, [process])


def _asked(target: Target, path: str) -> bytes:
    plain = socket.create_connection((target.host, target.port), timeout=5)
    with contextlib.closing(target.tls().wrap_socket(plain, server_hostname=target.host)) as line:
        line.sendall(target.request("GET", path))
        return _first_block(line)


def _first_block(line: ssl.SSLSocket) -> bytes:
    return line.recv(4096)
