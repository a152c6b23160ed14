"""Two `understudy serve` that stand for the same lease, each with a wire of its own to the API server."""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator

import msgspec

from tests.kube import serving
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.tapping import SECONDS, Tap
from understudy.client.kubeconfig import read_kubeconfig

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{serving.NAMESPACE}/leases/understudy"
LEASE_SECONDS = 3
VIEW_SECONDS = 6.0
SETTINGS: serving.Settings = {
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
    process: serving.Replica
    tap: Tap

    @property
    def alive(self) -> bool:
        return self.process.popen.poll() is None

    @property
    def says(self) -> str:
        """How it stands: `leading`, `standing by`, or what keeps it from either."""
        return self.process.asked("/readyz").strip()

    @property
    def is_ready(self) -> bool:
        return self.says in ("leading", "standing by")

    @property
    def log(self) -> str:
        return self.process.log.read_text(errors="replace")

    def tell(self) -> str:
        """What helps to find out why a test failed."""
        writes = "\n".join(f"{one.at:.2f} {one.method} {one.path} {one.struck}" for one in self.tap.writes()[-40:])
        return f"--- {self.process.identity}, alive: {self.alive}\n{self.process.last_words()}\n{writes}"

    def kill(self) -> float:
        """The moment."""
        self.process.kill()
        return time.monotonic()

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


class Team:
    """Of the replicas that were ever started two live at a time, whenever they are mustered."""

    def __init__(self, kube: Cluster, stack: contextlib.ExitStack) -> None:
        self._kube = kube
        self._stack = stack
        self._upstream = read_kubeconfig(serving.allow(kube))
        self.replicas: list[Replica] = []

    def muster(self) -> tuple[Replica, Replica]:
        """A leader and a standby, both ready, with nothing in their way."""
        for replica in self.living:
            replica.tap.clear()
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
        """As if its time had run out: for tests that need not see once more that it does."""
        self._kube.api.patch(LEASE, {"spec": {"holderIdentity": ""}})

    def _start(self) -> None:
        name = f"tapped-{next(_numbers)}"
        tap = self._stack.enter_context(Tap(self._upstream).in_thread())
        kubeconfig = tap.kubeconfig(self._kube.plane.folder / f"{name}.kubeconfig")
        served = serving.serve(self._kube, name, SETTINGS, wait=False, kubeconfig=kubeconfig)
        self.replicas.append(Replica(self._stack.enter_context(served), tap))


@contextlib.contextmanager
def team_of(kube: Cluster) -> Iterator[Team]:
    with contextlib.ExitStack() as stack:
        yield Team(kube, stack)
