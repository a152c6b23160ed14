"""Real servers and clusters in temporary folders: started, looked at, killed; ended and removed whatever happens."""

import contextlib
import datetime
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.eventually import eventually
from tests.faults.wires import asked
from understudy.client.kubeconfig import read_kubeconfig
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.clusters.component import component_command, package_root
from understudy.embedded.clusters.credentials import write_credentials
from understudy.embedded.clusters.process_lock import PARTS, SERVER, SUPERVISOR, LockHolder, lock_holder

PATIENCE = 90.0  # seconds for anything that ought to happen, on a machine that is busy with other things
LOOK = 0.01  # seconds between two looks at a state that has no event
# Below the ports that the kernel hands out: no other process takes such a port while its server is dead.
_PORTS = range(20_000, 32_000)
_SURPRISES = ("Traceback (most recent call last)", "CRITICAL", "never retrieved", "was never awaited", " ERROR ")


class ServerProcess:
    """The API server of a cluster without nodes, controllers and agent. Its port stays the same through restarts."""

    def __init__(self, folder: ClusterFolder) -> None:
        self.folder = folder
        self.config = read_kubeconfig(folder.kubeconfig)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.folder.path / "server.log").read_text(errors="replace")

    def start(self) -> None:
        """With as many open files as most systems allow to begin with."""
        command = ["sh", "-c", 'ulimit -Sn 1024; exec "$@"', "sh", *component_command(SERVER, self.folder)]
        with (self.folder.path / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=package_root()
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> int:
        """In good order; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait_until_ready(self) -> None:
        eventually(self._is_ready, lambda: f"the server does not answer: {self.log[-2000:]}")

    def resident_bytes(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise ProcessLookupError(self.pid)

    def worked_seconds(self) -> float:
        """How long it has kept a processor busy so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check_health(self) -> None:
        """It lives, answers, and nothing has taken it by surprise."""
        assert self.is_alive(), f"the server ended: {self.log[-2000:]}"
        assert asked(self.config, "GET", "/readyz").body == b"ok"
        check_log(self.log)

    def _is_ready(self) -> bool:
        assert self.is_alive(), f"the server ended: {self.log[-2000:]}"
        with contextlib.suppress(OSError):
            return asked(self.config, "GET", "/readyz").status == 200
        return False


def check_log(log: str) -> None:
    for word in _SURPRISES:
        assert word not in log, (
            f"{word.strip()} in the log of the server: {log[max(0, log.index(word) - 300) :][:6000]}"
        )


@contextlib.contextmanager
def running_server() -> Iterator[ServerProcess]:
    with temporary_folder() as place, server_in(place) as server:
        yield server


@contextlib.contextmanager
def server_in(place: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(prepared_folder(place))
    try:
        server.start()
        server.wait_until_ready()
        yield server
    finally:
        server.kill()


def prepared_folder(place: Path) -> ClusterFolder:
    """What `understudy up` leaves in the folder of a cluster before it starts the parts."""
    folder = ClusterFolder(place)
    settings = ClusterSettings(
        name="faults",
        address="127.0.0.1",
        port=free_port(),
        runtime="process",
        pod_network="127.99.0.0/16",
        nodes=(),
    )
    folder.settings.write_bytes(msgspec.json.encode(settings))
    write_credentials(folder, settings, datetime.datetime.now(datetime.UTC))
    return folder


def free_port() -> int:
    for port in random.sample(_PORTS, 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port is free")


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="understudy-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


class ClusterProcesses:
    """A whole cluster, in a home of its own."""

    def __init__(self, home: Path, name: str) -> None:
        self.home = home
        self.folder = ClusterFolder(home / "clusters" / name)

    def understudy(self, *arguments: str) -> str:
        """What the command printed."""
        return self.told(*arguments).stdout

    def told(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "understudy", *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=package_root(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == code, f"understudy {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "UNDERSTUDY_HOME": str(self.home)}

    def part(self, name: str) -> LockHolder | None:
        return lock_holder(self.folder.processes / name)

    def kill(self, parts: Sequence[str]) -> dict[str, LockHolder]:
        """All at once; who they were."""
        found = {part: self.wait_for_part(part) for part in parts}
        for each in found.values():
            os.kill(each.pid, signal.SIGKILL)
        return found

    def wait_for_part(self, name: str, other_than: LockHolder | None = None) -> LockHolder:
        eventually(
            lambda: self.part(name) not in (None, other_than), lambda: f"{name} does not come back: {self.logs()}"
        )
        found = self.part(name)
        return found if found is not None else self.wait_for_part(name, other_than)

    def wait_until_gone(self, name: str) -> None:
        eventually(lambda: self.part(name) is None, lambda: f"{name} is still there")

    def logs(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-3000:]}" for path in self.folder.logs.glob("*.log"))


@contextlib.contextmanager
def running_cluster(description: str) -> Iterator[ClusterProcesses]:
    """Of the nodes that the text, a cluster file, describes."""
    with temporary_folder() as home, cluster_in(home, description) as cluster:
        yield cluster


@contextlib.contextmanager
def cluster_in(home: Path, description: str) -> Iterator[ClusterProcesses]:
    (home / "cluster.yaml").write_text(description)
    with ended_at_last(ClusterProcesses(home, "default")) as cluster:
        cluster.understudy("up", "--detach", "--port", str(free_port()), "-f", str(home / "cluster.yaml"))
        yield cluster


@contextlib.contextmanager
def ended_at_last(cluster: ClusterProcesses) -> Iterator[ClusterProcesses]:
    try:
        yield cluster
    finally:
        _end(cluster)


def _end(cluster: ClusterProcesses) -> None:
    """Even where the command itself is what does not work."""
    try:
        if cluster.folder.settings.exists():
            cluster.understudy("down", "--now")
    finally:
        for part in (SUPERVISOR, *PARTS):
            if (found := cluster.part(part)) is not None:
                os.kill(found.pid, signal.SIGKILL)
        for pid in processes_of(cluster.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not processes_of(cluster.home), lambda: f"left over: {processes_of(cluster.home)}")


def processes_of(place: Path) -> dict[int, str]:
    """All processes that were started with this folder in mind, or work in it, by what they run."""
    mark = str(place).encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                told = (command, (entry / "environ").read_bytes(), os.fsencode(os.readlink(entry / "cwd")))
                if any(mark in one for one in told):
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found
