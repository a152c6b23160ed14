"""What tests of faults have in common: two replicas, six nodes, and an observer."""

import itertools
from collections.abc import Iterator

import pytest

from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.gangs import HIGH, LAST_SEATS, clear, job, make_priorities, notes_on
from tests.kube.onlooker import Onlooker, looking_on
from tests.kube.replicas import Team, team_of
from tests.kube.tapping import SECONDS
from understudy.client.kubeconfig import read_kubeconfig

_numbers = itertools.count()


class Scene:
    """A namespace with six nodes of eight accelerators, which it has for itself."""

    def __init__(self, api: Api, namespace: str, nodes: Nodes, names: list[str], seen: Onlooker) -> None:
        self.api = api
        self.namespace = namespace
        self.nodes = nodes
        self.names = names
        self.seen = seen

    def create(self, name: str, size: int, priority: str = HIGH, gpus: int = 8) -> None:
        self.api.create(job(name, size, priority, gpus), self.namespace)

    def whole(self, name: str, size: int) -> float:
        """The moment in which it is."""
        return self.seen.until(f"{name} is whole", lambda: len(self.seen.sitting(name)) == size)

    def seated(self, name: str, size: int, priority: str = HIGH, gpus: int = 8) -> None:
        """And nothing is left to be written about it."""
        self.create(name, size, priority, gpus)
        self.whole(name, size)
        wait_until(lambda: LAST_SEATS in self.notes(name), f"the seats of {name} are noted", SECONDS)

    def notes(self, name: str) -> dict[str, str]:
        return notes_on(self.api, self.namespace, name)


@pytest.fixture(scope="module")
def team(kube: Cluster) -> Iterator[Team]:
    make_priorities(kube.api)
    with team_of(kube) as made:
        yield made


@pytest.fixture
def scene(kube: Cluster, team: Team, namespace: str, nodes: Nodes) -> Iterator[Scene]:
    """Nothing that wants a seat is left behind for the next test. What the replicas did is shown where a test fails."""
    prefix = f"n{next(_numbers)}"
    names = [f"{prefix}-{i}" for i in range(6)]
    nodes.add(*names)
    with looking_on(read_kubeconfig(kube.kubeconfig), namespace) as seen:
        yield Scene(kube.api, namespace, nodes, names, seen)
        print(*(one.tell() for one in team.replicas[-3:]), sep="\n")  # noqa: T201
        clear(kube.api, namespace)
        seen.until("no pod is left", lambda: all(pod.gone for pod in seen.pods.values()))
