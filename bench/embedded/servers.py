"""Servers to measure, each started afresh and ended after: ours, and a real kube-apiserver where one is at hand."""

import contextlib
import datetime
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bench.embedded.wire import Target
from understudy.embedded.clusters import certificates
from understudy.embedded.folders import ClusterFolder

ASSETS = "KUBEBUILDER_ASSETS"  # where envtest, and so whoever tests controllers, keeps etcd and kube-apiserver
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
        target = Target("127.0.0.1", _free_port(), str(folder.authority), TOKEN)
        _identify(folder)
        folder.tokens.write_text(f"{TOKEN},bench,system:masters\n")
        settings = {"name": "bench", "address": target.host, "port": target.port, "nodes": []}
        folder.settings.write_bytes(msgspec.json.encode(settings))
        command = [sys.executable, "-m", "understudy.embedded", "server", place]
        with _process(command, folder.path / "server.log") as process:
            _wait_for(target)
            yield Running(target, (process.pid,))


def peer_programs() -> tuple[Path, Path] | None:
    """etcd and kube-apiserver, or None where they are not at hand."""
    folder = Path(os.environ.get(ASSETS, ""))
    programs = (folder / "etcd", folder / "kube-apiserver")
    return programs if os.environ.get(ASSETS) and all(program.is_file() for program in programs) else None


@contextlib.contextmanager
def kubernetes(programs: tuple[Path, Path]) -> Iterator[Running]:
    """etcd and kube-apiserver as they come, on loopback, with a token and no service accounts to wait for."""
    etcd, apiserver = map(str, programs)
    with tempfile.TemporaryDirectory() as place:
        folder = ClusterFolder(Path(place))
        target = Target("127.0.0.1", _free_port(), str(folder.authority), TOKEN)
        _identify(folder)
        folder.tokens.write_text(f'{TOKEN},bench,bench,"system:masters"\n')
        accounts = _service_account_key(folder.path / "accounts.key")
        client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
        store = [
            etcd,
            f"--data-dir={place}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
        ]
        store += [
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ]
        api = [
            apiserver,
            f"--etcd-servers={client}",
            f"--secure-port={target.port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={folder.certificate}",
            f"--tls-private-key-file={folder.private_key}",
            f"--token-auth-file={folder.tokens}",
            "--authorization-mode=AlwaysAllow",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://127.0.0.1",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            "--service-cluster-ip-range=10.0.0.0/24",
        ]
        with _process(store, folder.path / "etcd.log") as first, _process(api, folder.path / "api.log") as second:
            _wait_for(target)
            _wait_for(target, "/api/v1/namespaces/default")
            yield Running(target, (first.pid, second.pid))


def _identify(folder: ClusterFolder) -> None:
    made = certificates.identity("bench", ("localhost", "127.0.0.1"), datetime.datetime.now(datetime.UTC))
    folder.authority.write_bytes(made.authority)
    folder.certificate.write_bytes(made.certificate)
    folder.private_key.write_bytes(made.key)


def _service_account_key(path: Path) -> Path:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    key = rsa.generate_private_key(65537, 2048)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield process
        except ConnectionError as error:
            raise RuntimeError(f"{command[0]}: {error}; it said: {log.read_text()[-2000:]}") from error
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(target: Target, path: str = "/readyz") -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError):
            if b" 200 " in _asked(target, path).split(b"\r\n", 1)[0]:
                return
        if time.monotonic() > deadline:
            raise ConnectionError(f"nobody answered {path} for {START_SECONDS:.0f} s")
        time.sleep(0.05)


def _asked(target: Target, path: str) -> bytes:
    plain = socket.create_connection((target.host, target.port), timeout=5)
    with contextlib.closing(target.tls().wrap_socket(plain, server_hostname=target.host)) as line:
        line.sendall(target.request("GET", path))
        return _first_block(line)


def _first_block(line: ssl.SSLSocket) -> bytes:
    return line.recv(4096)
