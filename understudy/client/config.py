"""How to reach a cluster, and with which credentials: one flat value, from a kubeconfig or from inside a pod."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

RESTART = 3.0  # seconds in which a supervised embedded server restarts after a crash
EXTENSION = "understudy.dev"  # under `extensions` of a kubeconfig's cluster: marks an embedded cluster
FEW, MANY = 16, 32  # concurrent requests: where one request binds a gang, and where each pod needs its own
OFTEN, RARELY = 10.0, 60.0  # seconds of watch silence: where bookmarks come once a minute, and twice a minute
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # mounted into every pod


class BadConfig(Exception):
    """A kubeconfig that cannot be used: the file, the field and the fix in one line."""


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A command that gives credentials: `exec` of a kubeconfig's user."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    interactive: str = "IfAvailable"  # Never, IfAvailable, Always
    hint: str = ""  # how to install the command
    cluster: Mapping[str, Any] | None = None  # what the command gets about the cluster, if it asks for that


class OidcProvider(msgspec.Struct, frozen=True, kw_only=True):
    """An identity given by an OpenID provider: `auth-provider` of a kubeconfig's user."""

    issuer: str
    client: str
    secret: str = ""
    id_token: str = ""
    refresh_token: str = ""
    authority: str = ""  # of the issuer, as PEM
    kept_in: tuple[str, str] = ("", "")  # the kubeconfig and the user in it to which new tokens are written


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The user that requests are made for: `as`, `as-groups` and so on of a kubeconfig's user."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    server: str  # https://host:port, with a path where the API is served under one
    authority: str = ""  # the CA's certificates as PEM; if empty, those of this system
    token: str = ""
    token_file: str = ""  # read again when it changes
    certificate: str = ""  # of this client, as PEM
    key: str = ""
    plugin: ExecPlugin | None = None
    oidc: OidcProvider | None = None
    impersonation: Impersonation | None = None
    insecure: bool = False
    server_name: str = ""  # the name in the server's certificate, if it differs from the host
    proxy: str = ""  # http://host:port through which the server is reached
    namespace: str = "default"
    embedded: bool = False  # an embedded cluster: its kubeconfig says so
    gang_binding: bool = False  # the server can bind a whole gang in one request
    connections: int = FEW  # concurrent requests at most; further ones wait. Watches are not counted
    timeout: float = 30.0  # seconds until a request without a response fails
    write_timeout: float = 0.0  # the same for writes; 0: as for reads
    attempts: int = 0  # of a request that may be retried, at most; 0: the default
    silence: float = RARELY  # seconds without data after which a watch is opened again, to prove that it is alive
    connect_retry: float = 0.0  # seconds for which refused connections are retried

    @staticmethod
    def in_cluster(folder: Path = SERVICE_ACCOUNT) -> "Config":
        """With the service account of the pod that this process runs in."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            raise BadConfig("KUBERNETES_SERVICE_HOST: not set; this is no pod of a cluster")
        try:
            authority = (folder / "ca.crt").read_text()
            namespace = (folder / "namespace").read_text().strip() if (folder / "namespace").exists() else ""
            (folder / "token").read_text()
        except OSError as error:
            raise BadConfig(f"{error.filename}: cannot be read: {(error.strerror or str(error)).lower()}") from None
        address = f"[{host}]" if ":" in host else host
        return Config(
            server=f"https://{address}:{port}",
            authority=authority,
            token_file=str(folder / "token"),
            namespace=namespace or "default",
            connections=MANY,
            silence=OFTEN,
        )

    @staticmethod
    def is_in_cluster(folder: Path = SERVICE_ACCOUNT) -> bool:
        return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").exists()
