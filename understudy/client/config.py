"""Where a cluster is and who we are to it: one flat value, from a kubeconfig or from inside of a cluster."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

RESTART = 3.0  # seconds in which a server of our own is back after a crash
EXTENSION = "understudy.dev"  # what our own clusters say of themselves, under `extensions` of a kubeconfig's cluster
FEW, MANY = 16, 32  # requests at a time: of a server that binds a gang by one, and of one that takes one for each pod
OFTEN, RARELY = 10.0, 60.0  # where bookmarks come once a minute, and where twice
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # what a pod is given to speak to its cluster


class BadConfig(Exception):
    """A kubeconfig that cannot be used: the file, the field and the fix in one line."""


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A command that gives credentials: `exec` of a kubeconfig's user."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    interactive: str = "IfAvailable"  # Never, IfAvailable, Always
    hint: str = ""  # where to get it
    cluster: Mapping[str, Any] | None = None  # what it is told of the cluster, if it wants to know


class OidcProvider(msgspec.Struct, frozen=True, kw_only=True):
    """An identity given by an OpenID provider: `auth-provider` of a kubeconfig's user."""

    issuer: str
    client: str
    secret: str = ""
    id_token: str = ""
    refresh_token: str = ""
    authority: str = ""  # of the issuer, as PEM
    kept_in: tuple[str, str] = ("", "")  # the kubeconfig and its user where new tokens are written down


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """Whom we act for: `as` and its like of a kubeconfig's user."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    server: str  # https://host:port, with a path where the API is served under one
    authority: str = ""  # the CA's certificates as PEM; none: those of this system
    token: str = ""
    token_file: str = ""  # read anew as it changes
    certificate: str = ""  # of this client, as PEM
    key: str = ""
    plugin: ExecPlugin | None = None
    oidc: OidcProvider | None = None
    impersonation: Impersonation | None = None
    insecure: bool = False
    server_name: str = ""  # the name in the server's certificate, where it is not the host's
    proxy: str = ""  # http://host:port through which the server is reached
    namespace: str = "default"
    gang_binding: bool = False  # the server can seat a whole gang at once
    connections: int = FEW  # at most this many requests at a time; the others wait. Watches come on top
    timeout: float = 30.0  # seconds until a request without an answer is given up
    write_timeout: float = 0.0  # the same for what changes something, where it is to be another; 0: it is not
    attempts: int = 0  # of a request that may be asked again, at most; 0: as many as usual
    silence: float = RARELY  # seconds after which a watch that says nothing is opened anew, to know that it is alive
    patience: float = 0.0  # seconds in which a server that nobody finds at home is knocked at again

    @staticmethod
    def in_cluster(folder: Path = SERVICE_ACCOUNT) -> "Config":
        """As a pod of the cluster that this process runs in."""
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
