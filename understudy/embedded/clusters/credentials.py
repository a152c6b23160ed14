"""Tokens, certificates and kubeconfigs of a cluster: created once and kept."""

import base64
import datetime
import re
import secrets
import socket
from collections.abc import Mapping, Sequence

import msgspec

from understudy.client.config import EXTENSION
from understudy.embedded.cluster_folder import ADMIN_ACCESS, PODS, ClusterFolder, ClusterSettings
from understudy.embedded.clusters.private_files import write_private
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER, SUPERVISOR

ADMIN = "admin"
ALL_POWERS = "system:masters"
EVERYWHERE = ("0.0.0.0", "::")
LOCAL = ("localhost", "127.0.0.1", "::1")  # names by which every server can be reached from its own machine
_WORD = re.compile(r"[A-Za-z](?:[\w./:+=-]*[\w./+=-])?", re.ASCII)
_NO_TEXT = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")
PARTS = (SUPERVISOR, SERVER, CONTROL, AGENT)


def context_name(cluster: str) -> str:
    return f"understudy-{cluster}"


def url(settings: ClusterSettings) -> str:
    """The URL for programs on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.address, settings.address)
    return f"https://{f'[{host}]' if ':' in host else host}:{settings.port}"


def write_credentials(folder: ClusterFolder, settings: ClusterSettings, now: datetime.datetime) -> None:
    """Creates what is missing and renews what no longer fits; the rest stays as it is."""
    authority = _identity(folder, settings, now)
    parts = PARTS if settings.pod_access != ADMIN_ACCESS else (*PARTS, PODS)
    tokens = _tokens(folder, parts)
    write_private(folder.kubeconfig, _yaml(_kubeconfig(settings, authority, tokens[ADMIN])).encode())
    for part in parts:
        document = _kubeconfig(settings, authority, tokens[_user(part)])
        write_private(folder.access(part), msgspec.json.encode(document))
    if PODS not in parts:
        folder.access(PODS).unlink(missing_ok=True)


class CertificateRecord(msgspec.Struct, frozen=True):
    """The hosts and the end of the certificate in the folder. It is kept beside the certificate, since the library that
    reads certificates is slow to import."""

    hosts: list[str]
    renew_at: datetime.datetime


def _identity(folder: ClusterFolder, settings: ClusterSettings, now: datetime.datetime) -> bytes:
    """The authority's certificate."""
    files, fitness = (folder.authority, folder.certificate, folder.private_key), folder.path / "certificate.json"
    hosts = list(dict.fromkeys([*LOCAL, *_hosts(settings.address)]))
    if all(file.exists() for file in (*files, fitness)):
        fit = msgspec.json.decode(fitness.read_bytes(), type=CertificateRecord)
        if set(hosts) <= set(fit.hosts) and now < fit.renew_at:
            return folder.authority.read_bytes()
    from understudy.embedded.clusters import certificates

    made = certificates.identity(settings.name, hosts, now)
    fitness.unlink(missing_ok=True)  # a record must never describe other files
    for file, content in zip(files, (made.authority, made.certificate, made.key), strict=True):
        write_private(file, content)
    write_private(fitness, msgspec.json.encode(CertificateRecord(hosts, made.renew_at)))
    return made.authority


def _hosts(address: str) -> list[str]:
    """The host names and addresses by which clients reach a server on this address."""
    if address not in EVERYWHERE:
        return [address]
    name = socket.gethostname()
    try:
        found = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    return [name, *sorted(found)]


def _tokens(folder: ClusterFolder, parts: Sequence[str]) -> dict[str, str]:
    """Tokens by user: those in the file, and new ones. The shared token of pods goes if they have their own."""
    known: dict[str, str] = {}
    if folder.tokens.exists():
        for line in folder.tokens.read_text().splitlines():
            token, _, rest = line.partition(",")
            known[rest.partition(",")[0]] = token
    if PODS not in parts:
        known.pop(_user(PODS), None)
    for user in (ADMIN, *map(_user, parts)):
        known.setdefault(user, secrets.token_urlsafe(32))
    lines = [f"{token},{user},{ALL_POWERS}\n" for user, token in known.items()]
    write_private(folder.tokens, "".join(lines).encode())
    return known


def _user(part: str) -> str:
    return f"understudy:{part}"


def _kubeconfig(settings: ClusterSettings, authority: bytes, token: str) -> dict[str, object]:
    name = context_name(settings.name)
    cluster = {
        "server": url(settings),
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "extensions": [{"name": EXTENSION, "extension": {"gangBinding": True}}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": {"token": token}}],
    }


def _yaml(document: Mapping[str, object]) -> str:
    """Enough YAML for a kubeconfig; importing PyYAML would slow `understudy up` down."""
    return "".join(_block(document, ""))


def _block(value: object, indent: str) -> list[str]:
    if isinstance(value, Mapping):
        lines = []
        for key, inner in value.items():
            if isinstance(inner, Mapping | list):
                deeper = indent if isinstance(inner, list) else f"{indent}  "
                lines += [f"{indent}{key}:\n", *_block(inner, deeper)]
            else:
                lines.append(f"{indent}{key}: {_scalar(inner)}\n")
        return lines
    assert isinstance(value, list)
    lines = []
    for item in value:
        first, *rest = _block(item, f"{indent}  ")
        lines += [f"{indent}- {first.lstrip()}", *rest]
    return lines


def _scalar(value: object) -> str:
    """Plain words are not quoted; what YAML may read as another type is."""
    plain = isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NO_TEXT
    return str(value) if plain else msgspec.json.encode(value).decode()
