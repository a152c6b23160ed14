"""Where a cluster is and who we are to it: a kubeconfig file into one flat value."""

import base64
import binascii
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

RESTART = 3.0  # seconds in which a server of our own is back after a crash
EXTENSION = "understudy.dev"  # what our own clusters say of themselves, under `extensions` of a kubeconfig's cluster
_REFUSED_USER = {
    "exec": "credential plugins are not run; use a token or a client certificate",
    "auth-provider": "no longer part of Kubernetes; use a token or a client certificate",
    "as": "impersonation is not supported; use the credentials of that user",
}


class BadConfig(Exception):
    """A kubeconfig that cannot be used: the file, the field and the fix in one line."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    server: str  # https://host:port, with a path where the API is served under one
    authority: str = ""  # the CA's certificates as PEM; none: those of this system
    token: str = ""
    token_file: str = ""  # read anew as it changes
    certificate: str = ""  # of this client, as PEM
    key: str = ""
    insecure: bool = False
    server_name: str = ""  # the name in the server's certificate, where it is not the host's
    namespace: str = "default"
    gang_binding: bool = False  # the server can seat a whole gang at once
    connections: int = 16  # at most this many requests at a time; the others wait. Watches come on top
    timeout: float = 30.0  # seconds until a request without an answer is given up
    write_timeout: float = 0.0  # the same for what changes something, where it is to be another; 0: it is not
    patience: float = 0.0  # seconds in which a server that nobody finds at home is knocked at again

    @staticmethod
    def from_kubeconfig(path: str | os.PathLike[str], context: str | None = None) -> "Config":
        return _Kubeconfig(Path(path)).config(context)


class _Kubeconfig:
    """A file in memory; every look at a field knows how to complain about it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document = self._document()

    def config(self, context: str | None) -> Config:
        name = context or _text(self.document.get("current-context"))
        if not name:
            raise self.bad("current-context", "not set; name a context")
        chosen = self.entry("contexts", "context", name)
        cluster = self.entry("clusters", "cluster", _text(chosen.get("cluster")))
        user = self.entry("users", "user", _text(chosen.get("user"))) if chosen.get("user") else {}
        for field, why in _REFUSED_USER.items():
            if user.get(field):
                raise self.bad(f"users[].user.{field}", why)
        if cluster.get("proxy-url"):
            raise self.bad("clusters[].cluster.proxy-url", "proxies are not supported; reach the server directly")
        token = _text(user.get("token"))
        return Config(
            server=self.server(_text(cluster.get("server"))),
            authority=self.pem(cluster, "certificate-authority"),
            token=token,
            token_file="" if token else self.beside(_text(user.get("tokenFile"))),
            certificate=self.pem(user, "client-certificate"),
            key=self.pem(user, "client-key"),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            server_name=_text(cluster.get("tls-server-name")),
            namespace=_text(chosen.get("namespace")) or "default",
            gang_binding=bool(_extension(cluster).get("gangBinding")),
            patience=RESTART if _extension(cluster) else 0.0,
        )

    def entry(self, section: str, kind: str, name: str) -> dict[str, Any]:
        entries = self.document.get(section) or []
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("name") == name:
                return _mapping(entry.get(kind))
        raise self.bad(section, f"there is no {kind} named {name!r}")

    def server(self, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self.bad("clusters[].cluster.server", f"{url!r} is no address; expected https://HOST:PORT")
        return url.rstrip("/")

    def pem(self, entry: dict[str, Any], field: str) -> str:
        """`<field>-data` in base64, which wins, or the file that `<field>` names."""
        if data := _text(entry.get(f"{field}-data")):
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise self.bad(f"{field}-data", "not PEM in base64") from None
        name = self.beside(_text(entry.get(field)))
        return self.text(Path(name), field) if name else ""

    def beside(self, name: str) -> str:
        """Relative names start from the folder of the kubeconfig."""
        return str(self.path.parent / name) if name else ""

    def bad(self, field: str, problem: str) -> BadConfig:
        return BadConfig(f"{self.path}: {field}: {problem}")

    def text(self, path: Path, field: str) -> str:
        try:
            return path.read_text()
        except OSError as error:
            raise self.bad(field, f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
        except UnicodeDecodeError:
            raise self.bad(field, f"{path} is not text") from None

    def _document(self) -> dict[str, Any]:
        try:
            document = _parsed(self.path.read_bytes())
        except OSError as error:
            raise BadConfig(f"{self.path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
        except ValueError as error:
            raise BadConfig(f"{self.path}: {' '.join(str(error).split())}") from None
        if not isinstance(document, dict):
            raise BadConfig(f"{self.path}: not a kubeconfig: expected clusters, users and contexts")
        return document


def _parsed(data: bytes) -> object:
    """JSON is YAML too, and does without the YAML reader, which takes longer to load than all the rest."""
    if data.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            pass  # flow-style YAML
    import yaml

    try:
        document: object = yaml.safe_load(data)  # the reader in C would crash on nonsense nested deeply enough
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not YAML: {error}") from None
    return document


def _extension(cluster: dict[str, Any]) -> dict[str, Any]:
    extensions = cluster.get("extensions")
    for entry in extensions if isinstance(extensions, list) else []:
        if isinstance(entry, dict) and entry.get("name") == EXTENSION:
            return _mapping(entry.get("extension"))
    return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
