"""Two processes of `understudy serve` that compete for the same lease, each with its own proxy to the API server."""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator

import msgspec

from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.serve import serve_process
from tests.kube.serve.recording_proxy import SECONDS, RecordingProxy
from understudy.client.kubeconfig import read_kubeconfig

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{serve_process.NAMESPACE}/leases/understudy"
LEASE_SECONDS = 3
VIEW_SECONDS = 6.0
SETTINGS: serve_process.Settings = {
    "kube": {
        "leaseDuration": LEASE_SECONDS,
        "renewDeadline": 1.8,
        "retryPeriod": 0.3,
        "writeTimeout": 1,
        "maxViewAge": VIEW_SECONDS,
    }
}
_numbers = itertools.count()


class Replica(msgspec.Struct, frozen=True, eq=False):
    process: serve_process.Replica
    proxy: RecordingProxy

    @property
    def alive(self) -> bool:
        return self.process.popen.poll() is None

    @property
    def says(self) -> str:
        """Its readiness: `leading`, `standing by`, or the reason why it is not ready."""
        return self.process.asked("/readyz").strip()

    @property
    def is_ready(self) -> bool:
        return self.says in ("leading", "standing by")

    @property
    def log(self) -> str:
        return self.process.log.read_text(errors="replace")

    def tell(self) -> str:
        """Details for the output of a failed test."""
        writes = "\n".join(f"{one.at:.2f} {one.method} {one.path} {one.struck}" for one in self.proxy.writes()[-40:])
        return f"--- {self.process.identity}, alive: {self.alive}\n{self.process.last_words()}\n{writes}"

    def kill(self) -> float:
        """Kills the process and returns when that was."""
        self.process.kill()
        return time.monotonic()

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


class ReplicaPair:
    """Keeps two replicas running: those that a test has killed are replaced."""

    def __init__(self, kube: Cluster, stack: contextlib.ExitStack) -> None:
        self._kube = kube
        self._stack = stack
        self._upstream = read_kubeconfig(serve_process.allow(kube))
        self.replicas: list[Replica] = []

    def ready_pair(self) -> tuple[Replica, Replica]:
        """A leader and a standby, both ready and without faults."""
        for replica in self.living:
            replica.proxy.clear()
        while len(self.living) < 2:
            self._start()
        alive = [one.process for one in self.living]
        wait_until(lambda: all(one.is_ready for one in self.living), "two are ready", SECONDS, alive)
        wait_until(lambda: [one for one in self.living if one.says == "leading"], "one of them leads", SECONDS, alive)
        leader = next(one for one in self.living if one.process.identity == self.holder())
        return leader, next(one for one in self.living if one is not leader)

    @property
    def living(self) -> list[Replica]:
        return [one for one in self.replicas if one.alive]

    def holder(self) -> str:
        return str(self._kube.api.get(LEASE)["spec"].get("holderIdentity", ""))

    def free_lease(self) -> None:
        """Ends the lease at once, for tests that are not about its time."""
        self._kube.api.patch(LEASE, {"spec": {"holderIdentity": ""}})

    def _start(self) -> None:
        name = f"tapped-{next(_numbers)}"
        proxy = self._stack.enter_context(RecordingProxy(self._upstream).in_thread())
        kubeconfig = proxy.kubeconfig(self._kube.plane.folder / f"{name}.kubeconfig")
        served = serve_process.serve(self._kube, name, SETTINGS, wait=False, kubeconfig=kubeconfig)
        self.replicas.append(Replica(self._stack.enter_context(served), proxy))


@contextlib.contextmanager
def replica_pair(kube: Cluster) -> Iterator[ReplicaPair]:
    with contextlib.ExitStack() as stack:
        yield ReplicaPair(kube, stack)
