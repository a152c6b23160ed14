"""The folder of an embedded cluster: where each of its parts keeps what must outlive it."""

import enum
import os
from pathlib import Path
from typing import Any

import msgspec

DEFAULT_NAME = "default"
PODS = "pods"  # the kubeconfig that all pods share, if they have no tokens of their own
# Annotation of a node: whose notices the agent follows for it, as SOURCE or SOURCE URL
NOTICES_FROM = "understudy.dev/notices-from"
OWN_ACCESS, ADMIN_ACCESS = "service-account", "admin"  # whose permissions pods have at the API


class PythonScope(enum.StrEnum):
    """With which other pods a pod shares what it installs with pip."""

    POD = "pod"  # with none
    JOB = "job"
    NAMESPACE = "namespace"
    CLUSTER = "cluster"


PYTHON_SCOPES = tuple(scope.value for scope in PythonScope)


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the cluster was started with; `ClusterFolder.read_settings` gives it to every part."""

    name: str
    address: str  # where the server listens
    port: int
    fixed_port: bool = False  # the user asked for this port; otherwise another one is chosen when it is taken
    runtime: str  # process, docker or podman
    pod_network: str  # the addresses pods get, such as 127.77.0.0/16
    nodes: tuple[dict[str, Any], ...]  # Node documents to register
    pod_access: str = OWN_ACCESS
    python_env: PythonScope = PythonScope.POD
    loop: dict[str, dict[str, Any]] = {}  # settings of policy and health that are not the default, by section and key


class ClusterFolder(msgspec.Struct, frozen=True):
    path: Path

    @property
    def database(self) -> Path:
        return self.path / "objects.sqlite"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    def access(self, part: str) -> Path:
        """The kubeconfig of one part of the cluster, with a token of its own."""
        return self.path / "access" / part

    def kubeconfig_of(self, part: str) -> Path:
        """The kubeconfig a part uses: its own, or the user's if it has none."""
        own = self.access(part)
        return own if own.exists() else self.kubeconfig

    @property
    def settings(self) -> Path:
        """ClusterSettings as JSON."""
        return self.path / "cluster.json"

    def read_settings(self) -> ClusterSettings:
        return msgspec.json.decode(self.settings.read_bytes(), type=ClusterSettings)

    @property
    def authority(self) -> Path:
        return self.path / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.path / "server.crt"

    @property
    def private_key(self) -> Path:
        return self.path / "server.key"

    @property
    def tokens(self) -> Path:
        """Lines of `token,user,group`: the tokens of users and of the parts of the cluster."""
        return self.path / "tokens"

    @property
    def signing_key(self) -> Path:
        """The key that signs the tokens of service accounts; the server creates it."""
        return self.path / "service-accounts.key"

    @property
    def agent_socket(self) -> Path:
        return self.path / "agent.sock"

    @property
    def programs(self) -> Path:
        """Programs that containers find at the end of their PATH."""
        return self.path / "programs"

    @property
    def python(self) -> Path:
        """Python environments that pods share, and what all environments of pods have in common."""
        return self.path / "python"

    @property
    def pods(self) -> Path:
        """A folder for each pod, by uid."""
        return self.path / "pods"

    @property
    def ended_pods(self) -> Path:
        """A folder for each pod that is gone and whose logs are kept, by uid."""
        return self.path / "ended-pods"

    @property
    def nodes(self) -> Path:
        """A file for each node, with the pid of the process that represents the node."""
        return self.path / "nodes"

    @property
    def control_groups(self) -> Path:
        """A file with the control groups that contain those of the pods, one a line."""
        return self.path / "control-groups"

    @property
    def claims(self) -> Path:
        """PersistentVolumeClaims: a folder each, by namespace and name."""
        return self.path / "volumes"

    @property
    def logs(self) -> Path:
        """The logs of the parts of the cluster."""
        return self.path / "logs"

    @property
    def processes(self) -> Path:
        """A file for each part with its pid, locked while that process lives."""
        return self.path / "run"


def home() -> Path:
    """All clusters of this user: UNDERSTUDY_HOME, else where the system keeps programs' state."""
    if given := os.environ.get("UNDERSTUDY_HOME"):
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "understudy"


def folder_of(name: str = DEFAULT_NAME) -> ClusterFolder:
    return ClusterFolder(home() / "clusters" / name)
