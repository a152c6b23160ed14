"""One cluster with all operators for all tests; each test has its own namespace and nodes: `make test-kube`."""

import contextlib
import itertools
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.kubectls import found
from tests.deploy.manifests import KUSTOMIZE
from tests.kube.cluster import groups, programs
from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
from tests.kube.cluster_observer import ClusterObserver
from tests.kube.command_line import shell
from tests.kube.serve.serve_process import Replica, serve
from tests.kube.serve.six_nodes import pair, six_nodes

__all__ = ["pair", "shell", "six_nodes"]

KUBECTL_SECONDS = 60
GONE_SECONDS = 10.0
LEASE_SECONDS = 12  # of nodes, renewed every 3: who is silent for two renewals is lost, and few tests wait for that
_numbers = itertools.count()


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """The programs of these tests take minutes to build, so the tests run only when they are named."""
    named = (str(given).partition("::")[0] for given in config.invocation_params.args)
    return None if any(re.search(r"tests/kube(/|$)", given) for given in named) else True


@pytest.fixture(scope="session")
def kube() -> Iterator[Cluster]:
    if not programs.at_hand():
        pytest.skip(programs.HOW_TO)
    try:
        programs.have_all()
    except programs.NoPrograms as problem:
        pytest.skip(f"no Kubernetes to test against: {problem}")
    with cluster(groups.served(Settings(lease_seconds=LEASE_SECONDS))) as running:
        groups.define(running.api, running.processes)
        yield running


@pytest.fixture
def api(kube: Cluster) -> Api:
    return kube.api


@pytest.fixture
def namespace(kube: Cluster) -> Iterator[str]:
    """A new namespace. It is deleted after the test; most likely its pods are gone when the next test begins."""
    name = kube.namespace(f"test-{os.getpid()}-{next(_numbers)}")
    yield name
    kube.api.delete(f"/api/v1/namespaces/{name}")

    def emptied() -> bool:
        pods = kube.api.items(f"/api/v1/namespaces/{name}/pods")
        for pod in pods:
            kube.api.delete(f"/api/v1/namespaces/{name}/pods/{pod['metadata']['name']}", grace=0)
        return not pods

    with contextlib.suppress(TimeoutError):
        wait_until(emptied, f"the pods of {name} are gone", GONE_SECONDS, kube.processes, every=0.2)


@pytest.fixture
def nodes(kube: Cluster) -> Iterator[Nodes]:
    """The nodes that the test adds; they are deleted afterwards."""
    yield kube.nodes
    kube.clear_nodes(*(node["metadata"]["name"] for node in kube.api.items("/api/v1/nodes")))


@pytest.fixture
def understudy(kube: Cluster) -> Iterator[Replica]:
    """`understudy serve`, leading."""
    with serve(kube) as replica:
        yield replica


@pytest.fixture
def observer(kube: Cluster, namespace: str, nodes: Nodes, understudy: Replica) -> Iterator[ClusterObserver]:
    """Watches the jobs of the namespace. Every broken rule fails the test."""
    del nodes, understudy  # what it sees is cleared away when it has looked for the last time
    seeing = ClusterObserver(kube.kubeconfig, namespace)
    with seeing.watching():
        yield seeing
        assert seeing.wrong == []
        seeing.until("every gang is seated whole or not at all", lambda: not seeing.torn())


@pytest.fixture
def kubectl(kube: Cluster) -> Callable[..., str]:
    """Runs the newest installed kubectl and returns what it prints."""
    installed = found()
    if not installed:
        pytest.skip("kubectl is not installed")

    def run(*arguments: str | Path, given: str = "") -> str:
        command = [installed[-1].path, *map(str, arguments)]
        environment = {**os.environ, "KUBECONFIG": str(kube.kubeconfig)}
        told = subprocess.run(
            command, input=given, env=environment, capture_output=True, text=True, check=False, timeout=KUBECTL_SECONDS
        )
        assert told.returncode == 0, f"{' '.join(command)}: {told.stderr}"
        return told.stdout

    return run


@pytest.fixture
def opting_in(kube: Cluster) -> None:
    """Skips tests of opted-in namespaces if this Kubernetes does not serve the policy for them."""
    if not kube.api.exists("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"):
        pytest.skip("this Kubernetes serves no MutatingAdmissionPolicy of v1: it is older than 1.36")


@pytest.fixture
def shipped(opting_in: None, kubectl: Callable[..., str]) -> Iterator[Callable[..., str]]:
    """What the kustomization brings, and kubectl. What acts by itself goes with the test: pods that wait for a node,
    and a policy for whole namespaces. The account and its roles stay, since those who serve have them."""
    del opting_in
    kubectl("apply", "-k", KUSTOMIZE)
    yield kubectl
    kubectl("delete", "-k", KUSTOMIZE / "admission")
    kubectl("-n", "understudy-system", "delete", "deployment", "understudy", "--cascade=foreground")
