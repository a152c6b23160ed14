"""Two `understudy serve` that stand for the same lease, each with a wire of its own to the API server."""

import contextlib
import itertools
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.tapping import SECONDS, Tap
from understudy.client import Config

LEASE_SECONDS = 3
VIEW_SECONDS = 6.0
SETTINGS = (
    f"kube: {{leaseDuration: {LEASE_SECONDS}, renewDeadline: 1.8, retryPeriod: 0.3, writeTimeout: 1, "
    f"maxViewAge: {VIEW_SECONDS}}}\n"
)


class Replica:
    def __init__(self, name: str, process: Process, tap: Tap, port: int) -> None:
        self.name = name
        self.process = process
        self.tap = tap
        self._port = port

    def page(self, path: str) -> str:
        """What it says there; '' where it says nothing, or nothing good."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self._port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return ""

    @property
    def log(self) -> str:
        return self.process.log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.popen.poll() is None

    def kill(self) -> float:
        """The moment."""
        self.process.kill()
        return time.monotonic()

    def tell(self) -> str:
        """For whoever has to find out why a test failed."""
        writes = "\n".join(f"{one.at:.2f} {one.method} {one.path} {one.struck}" for one in self.tap.writes()[-40:])
        return f"--- {self.name}, alive: {self.alive}\n{self.process.last_words()}\n{writes}"

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


class Team:
    """Of the replicas that were ever started at most two live at a time."""

    def __init__(self, kube: Cluster, folder: Path, lease_namespace: str, stack: contextlib.ExitStack) -> None:
        self._kube = kube
        self._folder = folder
        self._stack = stack
        self._numbers = itertools.count()
        self._lease_namespace = lease_namespace
        self._lease = f"/apis/coordination.k8s.io/v1/namespaces/{lease_namespace}/leases/understudy"
        self.replicas: list[Replica] = []

    def muster(self) -> tuple[Replica, Replica]:
        """A leader and a standby, both ready, with nothing in their way."""
        for replica in self.living:
            replica.tap.clear()
        while len(self.living) < 2:
            self._start()
        wait_until(lambda: all(one.page("/readyz") for one in self.living), "two are ready", SECONDS, self._processes)
        leader = self.wait_for_leader()
        return leader, next(one for one in self.living if one is not leader)

    @property
    def living(self) -> list[Replica]:
        return [one for one in self.replicas if one.alive]

    @property
    def _processes(self) -> list[Process]:
        return [one.process for one in self.living]

    def wait_for_leader(self, other_than: Replica | None = None) -> Replica:
        def leading() -> list[Replica]:
            others = (one for one in self.living if one is not other_than)
            return [one for one in others if "\nunderstudy_leader 1\n" in one.page("/metrics")]

        wait_until(leading, "somebody leads", SECONDS, self._processes)
        return leading()[0]

    def holder(self) -> str:
        return str(self._kube.api.get(self._lease)["spec"].get("holderIdentity", ""))

    def free_lease(self) -> None:
        """As if its time had run out, for whoever has seen elsewhere that it does."""
        self._kube.api.patch(self._lease, {"spec": {"holderIdentity": ""}})

    def _start(self) -> Replica:
        name, port = f"replica-{next(self._numbers)}", free_port()
        tap = self._stack.enter_context(Tap(Config.from_kubeconfig(self._kube.kubeconfig)).in_thread())
        settings = self._folder / "understudy.yaml"
        settings.write_text(SETTINGS)
        command = [
            sys.executable, "-m", "understudy", "serve",
            f"--kubeconfig={tap.kubeconfig(self._folder / f'{name}.kubeconfig')}",
            f"--settings={settings}",
            f"--listen={HOST}:{port}",
            f"--lease-namespace={self._lease_namespace}",
            f"--identity={name}",
        ]  # fmt: skip
        process = self._stack.enter_context(running(command, self._folder / f"{name}.log", name=name))
        self.replicas.append(Replica(name, process, tap, port))
        return self.replicas[-1]


@contextlib.contextmanager
def team_of(kube: Cluster, folder: Path) -> Iterator[Team]:
    with contextlib.ExitStack() as stack:
        namespace = kube.namespace(f"lease-{os.getpid()}-{time.monotonic_ns()}")
        yield Team(kube, folder, namespace, stack)
