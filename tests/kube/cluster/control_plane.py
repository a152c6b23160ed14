"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback: settings into processes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.kube.cluster import releases
from tests.kube.cluster.api import Api, ApiError
from tests.kube.cluster.identities import ADMIN, MASTERS, Identities, Users, identify, users
from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.programs import have
from tests.kube.cluster.settings import EXTRA_OPERATORS, OPERATORS, SchedulerSettings, Settings, gate_flags

START_SECONDS = 180.0  # of a busy machine; ten are usual
CONTROLLERS = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
# Kubernetes has roles for its own parts, which are bound to their names. What others run here is not ours to judge.
GROUPS = {
    ADMIN: MASTERS,
    CONTROLLERS: "system:authenticated",
    SCHEDULER: "system:authenticated",
    **dict.fromkeys(("kwok", *OPERATORS, *EXTRA_OPERATORS), MASTERS),
}
QUICK = ["--kube-api-qps=500", "--kube-api-burst=1000"]  # a test cluster needs no rate limit


class ControlPlane(msgspec.Struct):
    """The API server with its store, and the addresses and credentials of its clients."""

    folder: Path
    identities: Identities
    users: Users
    server: str
    processes: list[Process]

    def kubeconfig(self, user: str = ADMIN) -> Path:
        return self.users.kubeconfig(user, self.server, self.identities)

    def api(self, user: str = ADMIN) -> Api:
        return Api(self.server, self.identities.tls(), self.users.tokens[user])

    def log(self, name: str) -> Path:
        (self.folder / "logs").mkdir(exist_ok=True)
        return self.folder / "logs" / f"{name}.log"


@contextlib.contextmanager
def control_plane(folder: Path, settings: Settings) -> Iterator[ControlPlane]:
    """Runs the server during the block, with its store."""
    (folder / "access").mkdir()
    port = free_port()
    plane = ControlPlane(folder, identify(folder / "access"), users(GROUPS), f"https://{HOST}:{port}", [])
    plane.users.write(plane.identities.tokens, GROUPS)
    with _store(plane, settings) as store:
        command = _apiserver(plane, store, port, settings)
        with running(command, plane.log("kube-apiserver")) as process:
            plane.processes.append(process)
            with contextlib.closing(plane.api()) as api:
                wait_until(lambda: _serves(api), "kube-apiserver serves", START_SECONDS, plane.processes)
            yield plane


def _serves(api: Api) -> bool:
    """Whether the server is ready and its built-in namespaces exist."""
    try:
        api.text("GET", "/readyz")
        return api.exists("/api/v1/namespaces/kube-node-lease") and api.exists("/api/v1/namespaces/default")
    except ApiError:
        return False


@contextlib.contextmanager
def _store(plane: ControlPlane, settings: Settings) -> Iterator[str]:
    client, peer = (f"http://{HOST}:{free_port()}" for _ in range(2))
    command = [
        str(have(releases.ETCD)),
        f"--data-dir={plane.folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--quota-backend-bytes={8 * 2**30}",
        "--log-level=warn",
        *([] if settings.durable else ["--unsafe-no-fsync"]),
    ]
    with running(command, plane.log("etcd")) as process:
        plane.processes.append(process)
        yield client


def _apiserver(plane: ControlPlane, store: str, port: int, settings: Settings) -> list[str]:
    access = plane.identities
    return [
        str(have(releases.APISERVER)),
        f"--etcd-servers={store}",
        f"--secure-port={port}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",  # it would look for an address that pods could reach
        f"--tls-cert-file={access.certificate}",
        f"--tls-private-key-file={access.key}",
        f"--token-auth-file={access.tokens}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--service-account-issuer={plane.server}",
        f"--service-account-key-file={access.accounts_key}",
        f"--service-account-signing-key-file={access.accounts_key}",
        "--service-cluster-ip-range=10.96.0.0/12",
        *([f"--runtime-config={','.join(settings.apis)}"] if settings.apis else []),
        *gate_flags(settings.gates),
        *settings.apiserver_flags,
    ]


@contextlib.contextmanager
def controller_manager(plane: ControlPlane, settings: Settings) -> Iterator[Process]:
    """Each controller uses its own service account, with the same rights as in other clusters."""
    access = plane.identities
    config = plane.kubeconfig(CONTROLLERS)
    command = [
        str(have(releases.CONTROLLERS)),
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        f"--bind-address={HOST}",
        f"--secure-port={free_port()}",
        f"--tls-cert-file={access.certificate}",
        f"--tls-private-key-file={access.key}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={access.accounts_key}",
        f"--root-ca-file={access.authority}",
        "--controllers=*" + ("" if settings.node_lifecycle else ",-node-lifecycle-controller"),
        *([f"--node-monitor-grace-period={settings.grace}"] if settings.grace else []),
        *QUICK,
        *gate_flags(settings.gates),
        *settings.controller_flags,
    ]
    with running(command, plane.log("kube-controller-manager")) as process:
        yield process


@contextlib.contextmanager
def scheduler(plane: ControlPlane, settings: SchedulerSettings) -> Iterator[Process]:
    """A kube-scheduler for the pods that name it. Several can run, each under another name."""
    config = plane.folder / f"{settings.name}.yaml"
    config.write_bytes(msgspec.yaml.encode(_scheduler_config(plane, settings)))
    port = free_port()
    command = [
        str(have(releases.SCHEDULER)),
        f"--config={config}",
        f"--authentication-kubeconfig={plane.kubeconfig(SCHEDULER)}",
        f"--authorization-kubeconfig={plane.kubeconfig(SCHEDULER)}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={plane.identities.certificate}",
        f"--tls-private-key-file={plane.identities.key}",
        *gate_flags(settings.gates),
        *settings.flags,
    ]
    with running(command, plane.log(settings.name)) as process:
        with contextlib.closing(Api(f"https://{HOST}:{port}", plane.identities.tls(), "")) as health:
            wait_until(lambda: health.text("GET", "/healthz"), f"{settings.name} serves", START_SECONDS, [process])
        yield process


def _scheduler_config(plane: ControlPlane, settings: SchedulerSettings) -> dict[str, object]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(plane.kubeconfig(SCHEDULER)),
            "qps": settings.qps,
            "burst": settings.burst,
        },
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": settings.name}],
    }
