"""The fixtures of the tests of faults: two replicas, six nodes, and an observer."""

import itertools
from collections.abc import Iterator

import pytest

from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.serve.gangs import HIGH, LAST_SEATS, clear, job, make_priorities, notes_on
from tests.kube.serve.pod_observer import PodObserver, observing
from tests.kube.serve.recording_proxy import SECONDS
from tests.kube.serve.replica_pair import ReplicaPair, replica_pair
from understudy.client.kubeconfig import read_kubeconfig

_numbers = itertools.count()


class SixNodes:
    """A namespace, and six nodes of eight accelerators that no other test uses."""

    def __init__(self, api: Api, namespace: str, nodes: Nodes, names: list[str], seen: PodObserver) -> None:
        self.api = api
        self.namespace = namespace
        self.nodes = nodes
        self.names = names
        self.seen = seen

    def create(self, name: str, size: int, priority: str = HIGH, gpus: int = 8) -> None:
        self.api.create(job(name, size, priority, gpus), self.namespace)

    def whole(self, name: str, size: int) -> float:
        """Waits until the gang runs whole, and returns when that was."""
        return self.seen.until(f"{name} is whole", lambda: len(self.seen.sitting(name)) == size)

    def seated(self, name: str, size: int, priority: str = HIGH, gpus: int = 8) -> None:
        """Creates a gang and waits until it is bound and its seats are recorded."""
        self.create(name, size, priority, gpus)
        self.whole(name, size)
        wait_until(lambda: LAST_SEATS in self.notes(name), f"the seats of {name} are noted", SECONDS)

    def notes(self, name: str) -> dict[str, str]:
        return notes_on(self.api, self.namespace, name)


@pytest.fixture(scope="module")
def pair(kube: Cluster) -> Iterator[ReplicaPair]:
    make_priorities(kube.api)
    with replica_pair(kube) as made:
        yield made


@pytest.fixture
def six_nodes(kube: Cluster, pair: ReplicaPair, namespace: str, nodes: Nodes) -> Iterator[SixNodes]:
    """Deletes all jobs and pods at the end. A failed test prints what the replicas did."""
    prefix = f"n{next(_numbers)}"
    names = [f"{prefix}-{i}" for i in range(6)]
    nodes.add(*names)
    with observing(read_kubeconfig(kube.kubeconfig), namespace) as seen:
        yield SixNodes(kube.api, namespace, nodes, names, seen)
        print(*(one.tell() for one in pair.replicas[-3:]), sep="\n")  # noqa: T201
        clear(kube.api, namespace)
        seen.until("no pod is left", lambda: all(pod.gone for pod in seen.pods.values()))
