"""A cluster for the clients to work on. These tests run when they are named: `make test-clients`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectls import Kubectl, at_hand
from tests.clients.shell import Shell

UNDERSTUDY = (sys.executable, "-m", "understudy")
CLUSTER = """\
pools:
  - name: node
    count: 2
    cpu: 8
    memory: 16Gi
    accelerators:
      nvidia.com/gpu: 4
    labels:
      example.com/pool: workers
  - name: spot
    count: 1
    cpu: 8
    memory: 16Gi
    spot: azure
    labels:
      a-custom-key.io/my-key: a-custom-value
"""


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """They install other people's packages, so the suite that needs nothing but Python goes without them."""
    return None if any("tests/clients" in str(given) for given in config.invocation_params.args) else True


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("clusters")
    plan = home / "cluster.yaml"
    plan.write_text(CLUSTER)
    programs = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `python` is not everywhere by that name
    )
    environment = {**os.environ, "UNDERSTUDY_HOME": str(home), "PATH": programs}
    subprocess.run([*UNDERSTUDY, "up", "--detach", "-f", plan], env=environment, check=True, timeout=60)
    try:
        told = subprocess.run([*UNDERSTUDY, "kubeconfig"], env=environment, check=True, capture_output=True, timeout=30)
        config = home / "kubeconfig"
        config.write_bytes(told.stdout)
        config.chmod(0o600)
        yield config
    finally:
        subprocess.run([*UNDERSTUDY, "reset", "--yes"], env=environment, check=True, timeout=60)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Versions of kubectl are looked for only when a test that uses them is collected."""
    if "kubectl" in metafunc.fixturenames:
        ids = [kubectl.version for kubectl in at_hand()]
        metafunc.parametrize("kubectl", at_hand(), ids=ids, indirect=True, scope="module")


@pytest.fixture(scope="module")
def kubectl(request: pytest.FixtureRequest, kubeconfig: Path) -> Iterator[Shell]:
    """A namespace for each version, so that they do not see each other's objects."""
    chosen: Kubectl = request.param
    namespace = f"kubectl-{chosen.version.replace('.', '-')}"
    shell = Shell(chosen, kubeconfig, namespace)
    shell("create", "namespace", namespace)
    yield shell
    shell("delete", "namespace", namespace, "--wait=true", "--timeout=60s")
