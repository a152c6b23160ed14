"""A whole test cluster: settings into a control plane, nodes without machines, and operators, all ready to use.

with cluster() as running:
    running.nodes.add("node-1")
    running.api.create({...})
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.kube.cluster import control_plane as planes
from tests.kube.cluster import processes
from tests.kube.cluster.api import Api
from tests.kube.cluster.control_plane import START_SECONDS, ControlPlane
from tests.kube.cluster.identities import write_kubeconfig
from tests.kube.cluster.kwok import Nodes, deletion_policy, kwok
from tests.kube.cluster.operators.jobset import JOBSET
from tests.kube.cluster.operators.kueue import KUEUE
from tests.kube.cluster.operators.mpi import MPI
from tests.kube.cluster.operators.operator import install, started
from tests.kube.cluster.operators.trainer import TRAINER
from tests.kube.cluster.operators.training import TRAINING
from tests.kube.cluster.processes import Process, wait_until
from tests.kube.cluster.settings import SchedulerSettings, Settings

OPERATORS = {operator.name: operator for operator in (JOBSET, TRAINING, MPI, TRAINER, KUEUE)}


class Cluster:
    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.kubeconfig: Path = plane.kubeconfig()
        self.api: Api = plane.api()
        self.nodes = Nodes(self.api, plane.processes)
        self._kwok = contextlib.ExitStack()
        self._lease_seconds = 0

    @property
    def processes(self) -> list[Process]:
        return self.plane.processes

    def process(self, name: str) -> Process:
        return next(process for process in self.processes if process.name == name)

    @contextlib.contextmanager
    def scheduler(self, settings: SchedulerSettings | None = None) -> Iterator[Process]:
        """Runs another kube-scheduler during the block."""
        with planes.scheduler(self.plane, settings or SchedulerSettings()) as process:
            self.processes.append(process)
            try:
                yield process
            finally:
                self.processes.remove(process)

    @contextlib.contextmanager
    def attended(self, lease_seconds: int) -> Iterator[None]:
        """Runs KWOK during the block."""
        self._lease_seconds = lease_seconds
        with contextlib.closing(self):
            self._attend()
            yield

    def _attend(self) -> None:
        process = self._kwok.enter_context(kwok(self.plane, self._lease_seconds))
        self.processes.append(process)
        self._kwok.callback(self.processes.remove, process)

    def close(self) -> None:
        self._kwok.close()

    def clear_nodes(self, *names: str) -> None:
        """Removes nodes for good. KWOK is started anew: it does not always renew the lease of a node whose name it has
        seen before, and then the node dies without being told to."""
        self.nodes.remove(*names)
        self._kwok.close()
        self._attend()

    def namespace(self, name: str) -> str:
        """Creates a namespace and waits for its service account, without which no pod can be created."""
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_until(lambda: self.api.exists(account), f"{name} has a service account", START_SECONDS, self.processes)
        return name

    def account(self, namespace: str, name: str) -> Path:
        """The kubeconfig of a service account, which has only the rights of its roles."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.api.request("POST", path, asked)["status"]["token"]
        return write_kubeconfig(self.plane.identities, self.plane.server, f"{namespace}-{name}", token)


@contextlib.contextmanager
def cluster(settings: Settings | None = None) -> Iterator[Cluster]:
    """Runs a cluster during the block and removes its folder."""
    wanted = settings or Settings()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(processes.folder())
        plane = stack.enter_context(planes.control_plane(folder, wanted))
        made = Cluster(plane)
        stack.callback(made.api.close)
        controllers = stack.enter_context(planes.controller_manager(plane, wanted))
        made.processes.append(controllers)
        waiting = _operators(stack, made, wanted)
        if wanted.kwok:
            made.api.apply_all(deletion_policy())
            stack.enter_context(made.attended(wanted.lease_seconds))
        if wanted.scheduler:
            stack.enter_context(made.scheduler(wanted.scheduler))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_until(lambda: made.api.exists(account), "controllers work", START_SECONDS, made.processes)
        made.processes.extend(ready() for ready in waiting)
        yield made


def _operators(stack: contextlib.ExitStack, made: Cluster, wanted: Settings) -> list[Callable[[], Process]]:
    operators = [OPERATORS[name] for name in wanted.operators]
    install(made.api, operators, made.processes)
    return [stack.enter_context(started(made.plane, made.api, operator)) for operator in operators]
