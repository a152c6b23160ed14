"""Reads kubeconfig files, several of them as one, into a Config. Errors name the file, the field and the fix."""

import base64
import binascii
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from understudy.client.config import (
    EXTENSION,
    FEW,
    MANY,
    OFTEN,
    RARELY,
    RESTART,
    BadConfig,
    Config,
    ExecPlugin,
    Impersonation,
    OidcProvider,
)

EXEC_EXTENSION = "client.authentication.k8s.io/exec"  # the cluster's extension for credential plugins
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_INTERACTIVE = ("Never", "IfAvailable", "Always")


def read_kubeconfig(path: str | os.PathLike[str], context: str | None = None) -> Config:
    return read_kubeconfigs([path], context)


def read_kubeconfigs(paths: Sequence[str | os.PathLike[str]], context: str | None = None) -> Config:
    """Reads several files as one, as $KUBECONFIG has it: of two entries with one name, the first counts."""
    return Kubeconfig.read([Path(path) for path in paths]).config(context)


class KubeconfigEntry(NamedTuple):
    """The fields of one cluster, user or context, and the file they are from."""

    path: Path
    section: str
    fields: dict[str, Any]

    def text(self, field: str) -> str:
        return _text(self.fields.get(field))

    def bad(self, field: str, problem: str) -> BadConfig:
        return BadConfig(f"{self.path}: {self.section}[].{self.section[:-1]}.{field}: {problem}")

    def pem(self, field: str, fields: dict[str, Any] | None = None) -> str:
        """`<field>-data` in base64, which wins, or the file that `<field>` names."""
        fields = self.fields if fields is None else fields
        if data := _text(fields.get(f"{field}-data")):
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise BadConfig(f"{self.path}: {field}-data: not PEM in base64") from None
        name = self.beside(_text(fields.get(field)))
        return self._read(Path(name), field) if name else ""

    def beside(self, name: str) -> str:
        """Relative names start from the folder of the kubeconfig."""
        return str(self.path.parent / name) if name else ""

    def _read(self, path: Path, field: str) -> str:
        try:
            return path.read_text()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise BadConfig(f"{self.path}: {field}: {path} cannot be read: {why}") from None
        except UnicodeDecodeError:
            raise BadConfig(f"{self.path}: {field}: {path} is not text") from None


class Kubeconfig:
    def __init__(self, files: Sequence[tuple[Path, dict[str, Any]]]) -> None:
        self._files = files

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Of several files, missing ones are ignored as long as one exists."""
        there = [path for path in paths if path.exists()] if len(paths) > 1 else paths
        return cls([(path, _document(path)) for path in there or paths])

    def config(self, context: str | None) -> Config:
        name = context or next(filter(None, (_text(d.get("current-context")) for _, d in self._files)), "")
        if not name:
            raise self._bad("current-context", "not set; name a context")
        chosen = self._entry("contexts", "context", name)
        cluster = self._entry("clusters", "cluster", chosen.text("cluster"))
        user = KubeconfigEntry(chosen.path, "users", {})
        if chosen.fields.get("user"):
            user = self._entry("users", "user", chosen.text("user"))
        own = _extension(cluster, EXTENSION)
        return Config(
            server=_server(cluster),
            authority=cluster.pem("certificate-authority"),
            insecure=bool(cluster.fields.get("insecure-skip-tls-verify")),
            server_name=cluster.text("tls-server-name"),
            proxy=_proxy(cluster),
            namespace=chosen.text("namespace") or "default",
            embedded=bool(own),
            gang_binding=bool(own.get("gangBinding")),
            connect_retry=RESTART if own else 0.0,
            connections=FEW if own else MANY,
            silence=RARELY if own else OFTEN,
            **_credentials(user, cluster, chosen.text("user")),
        )

    def _entry(self, section: str, kind: str, name: str) -> KubeconfigEntry:
        for path, document in self._files:
            entries = document.get(section) or []
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict) and entry.get("name") == name:
                    return KubeconfigEntry(path, section, _mapping(entry.get(kind)))
        raise self._bad(section, f"there is no {kind} named {name!r}")

    def _bad(self, field: str, problem: str) -> BadConfig:
        return BadConfig(f"{', '.join(str(path) for path, _ in self._files)}: {field}: {problem}")


def _server(cluster: KubeconfigEntry) -> str:
    url = cluster.text("server")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise cluster.bad("server", f"{url!r} is no address; expected https://HOST:PORT")
    return url.rstrip("/")


def _proxy(cluster: KubeconfigEntry) -> str:
    url = cluster.text("proxy-url")
    parts = urlsplit(url)
    if url and (parts.scheme != "http" or not parts.hostname or urlsplit(cluster.text("server")).scheme != "https"):
        raise cluster.bad("proxy-url", f"{url!r}: only http://HOST:PORT, to a server that speaks https, is supported")
    return url


# Credentials


def _credentials(user: KubeconfigEntry, cluster: KubeconfigEntry, name: str) -> dict[str, Any]:
    for field in ("username", "password"):
        if user.fields.get(field):
            raise user.bad(field, "Kubernetes no longer knows passwords; use a token, a client certificate or exec")
    token, kept = user.text("token"), (str(user.path), name)
    return {
        "token": token,
        "token_file": "" if token else user.beside(user.text("tokenFile")),
        "certificate": user.pem("client-certificate"),
        "key": user.pem("client-key"),
        "plugin": _plugin(user, cluster) if user.fields.get("exec") else None,
        "oidc": _oidc(user, kept) if user.fields.get("auth-provider") else None,
        "impersonation": _impersonation(user),
    }


def _plugin(user: KubeconfigEntry, cluster: KubeconfigEntry) -> ExecPlugin:
    if user.fields.get("auth-provider"):
        raise user.bad("exec", "there is an auth-provider too; keep one of them")
    given = _mapping(user.fields.get("exec"))
    command, version = _text(given.get("command")), _text(given.get("apiVersion"))
    interactive = _text(given.get("interactiveMode")) or "IfAvailable"
    if not command:
        raise user.bad("exec.command", "not set; name the command that gives credentials")
    if version not in EXEC_VERSIONS:
        raise user.bad("exec.apiVersion", f"{version!r} is not known; use {EXEC_VERSIONS[0]}")
    if interactive not in _INTERACTIVE:
        raise user.bad("exec.interactiveMode", f"{interactive!r} is not one of {', '.join(_INTERACTIVE)}")
    return ExecPlugin(
        command=user.beside(command) if "/" in command else command,
        api_version=version,
        args=_texts(given.get("args")),
        env=tuple((_text(one.get("name")), _text(one.get("value"))) for one in map(_mapping, _list(given.get("env")))),
        interactive=interactive,
        hint=_text(given.get("installHint")).strip(),
        cluster=_cluster_info(cluster) if given.get("provideClusterInfo") else None,
    )


def _cluster_info(cluster: KubeconfigEntry) -> dict[str, Any]:
    """The cluster as passed to a plugin, with the authority inline even if the kubeconfig names a file."""
    kept = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")
    info = {field: cluster.fields[field] for field in kept if cluster.fields.get(field)}
    if authority := cluster.pem("certificate-authority"):
        info["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    if own := _extension(cluster, EXEC_EXTENSION):
        info["config"] = own
    return info


def _oidc(user: KubeconfigEntry, kept: tuple[str, str]) -> OidcProvider:
    provider = _mapping(user.fields.get("auth-provider"))
    if provider.get("name") != "oidc":
        raise user.bad(
            "auth-provider", f"{provider.get('name')!r} is no longer part of Kubernetes; use exec or a token"
        )
    given = _mapping(provider.get("config"))
    issuer, client = _text(given.get("idp-issuer-url")), _text(given.get("client-id"))
    for field, value in (("idp-issuer-url", issuer), ("client-id", client)):
        if not value:
            raise user.bad(f"auth-provider.config.{field}", "not set")
    return OidcProvider(
        issuer=issuer,
        client=client,
        secret=_text(given.get("client-secret")),
        id_token=_text(given.get("id-token")),
        refresh_token=_text(given.get("refresh-token")),
        authority=user.pem("idp-certificate-authority", given),
        kept_in=kept,
    )


def _impersonation(user: KubeconfigEntry) -> Impersonation | None:
    extra = _mapping(user.fields.get("as-user-extra"))
    acts_for = Impersonation(
        user=user.text("as"),
        uid=user.text("as-uid"),
        groups=_texts(user.fields.get("as-groups")),
        extra=tuple((str(key), _texts(values)) for key, values in extra.items()),
    )
    if acts_for == Impersonation():
        return None
    if not acts_for.user:
        raise user.bad("as", "not set, but groups, uid or extra are; name the user to act for")
    return acts_for


# Files


def _document(path: Path) -> dict[str, Any]:
    try:
        document = parsed(path.read_bytes())
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise BadConfig(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise BadConfig(f"{path}: not a kubeconfig: expected clusters, users and contexts")
    return document


def parsed(data: bytes) -> object:
    """JSON is YAML too, and needs no YAML parser, whose import takes longer than everything else here."""
    if data.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            pass  # flow-style YAML
    import yaml

    from understudy.objects.yaml_reader import load_one

    try:
        document: object = load_one(data.decode("utf-8-sig"), yaml.SafeLoader)  # a key that stands twice is allowed
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not YAML: {error}") from None
    return document


def _extension(cluster: KubeconfigEntry, name: str) -> dict[str, Any]:
    for entry in map(_mapping, _list(cluster.fields.get("extensions"))):
        if entry.get("name") == name:
            return _mapping(entry.get("extension"))
    return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in _list(value) if isinstance(text, str))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
