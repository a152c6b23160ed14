"""`understudy serve` as it runs in a cluster: its own process, with the rights of the shipped roles and no others.

with serve(kube) as leader, serve(kube, "second", wait=False) as standby:
    leader.kill()
    wait_until(lambda: standby.leads, "the other one leads", 30)
"""

import contextlib
import itertools
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.deploy import manifests
from tests.kube.cluster.api import ApiError
from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.running import Cluster

NAMESPACE, ACCOUNT = "understudy-system", "understudy"
START_SECONDS = 90.0
TOO_EARLY = 429  # what the API server says of a kind that was defined a moment ago
Settings = Mapping[str, Any]  # as understudy.yaml has them

# A leader that is gone is followed within seconds.
SHORT_TERMS: Settings = {
    "kube": {"leaseDuration": 4, "renewDeadline": 2.0, "retryPeriod": 0.5, "writeTimeout": 1.5},
}
_RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_numbers = itertools.count()


class Replica(Process):
    """A replica that takes part in the leader election."""

    identity: str
    port: int

    def asked(self, page: str) -> str:
        """The body of the response, whatever its status; empty without a response."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}{page}", timeout=5) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""

    @property
    def leads(self) -> bool:
        return self.asked("/readyz") == "leading\n"

    def figure(self, name: str) -> float:
        """The value of a metric, summed over its labels."""
        lines = [line.rpartition(" ") for line in self.asked("/metrics").splitlines() if not line.startswith("#")]
        return sum(float(value) for named, _, value in lines if named.partition("{")[0] == name)


def allow(kube: Cluster) -> Path:
    """Creates the shipped account, its roles and the kind Incident; returns the account's kubeconfig."""
    order = {kind: number for number, kind in enumerate(("CustomResourceDefinition", *_RIGHTS))}
    shipped = [document for document in manifests.plain() if document["kind"] in order]
    kube.api.apply_all(sorted(shipped, key=lambda document: order[document["kind"]]))
    wait_until(lambda: _keeps_incidents(kube), "incidents can be kept", START_SECONDS, kube.processes)
    return kube.account(NAMESPACE, ACCOUNT)


def _keeps_incidents(kube: Cluster) -> bool:
    try:
        return kube.api.exists("/apis/understudy.dev/v1alpha1/incidents")
    except ApiError as error:
        if error.status != TOO_EARLY:
            raise
        return False


@contextlib.contextmanager
def serve(
    kube: Cluster,
    identity: str = "",
    settings: Settings = SHORT_TERMS,
    *,
    wait: bool = True,
    kubeconfig: Path | None = None,
) -> Iterator[Replica]:
    """Waits until the replica leads, unless `wait` is False. A failed test shows its log."""
    name, port = identity or f"replica-{next(_numbers)}", free_port()
    file = kube.plane.folder / f"{name}.yaml"
    file.write_bytes(msgspec.yaml.encode(settings))
    command = [
        sys.executable, "-m", "understudy", "serve", f"--settings={file}", f"--listen={HOST}:{port}",
        f"--identity={name}", f"--lease-namespace={NAMESPACE}", f"--kubeconfig={kubeconfig or allow(kube)}",
    ]  # fmt: skip
    log = kube.plane.log(f"understudy-{name}")
    with running(command, log, name=f"understudy {name}") as process:
        replica = Replica(process.name, process.popen, log, name, port)
        try:
            if wait:
                wait_until(lambda: replica.leads, f"{name} leads", START_SECONDS, [replica])
            yield replica
        finally:
            sys.stdout.write(f"{name} logged:\n{log.read_text(errors='replace')[-20_000:]}\n")
