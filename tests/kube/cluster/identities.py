"""The identities of a test cluster: authority, certificates, the key of service accounts, tokens and kubeconfigs."""

import base64
import datetime
import ipaddress
import secrets
import ssl
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from understudy.client.tls import context_for

LIFETIME = datetime.timedelta(days=365)
CLOCK_SKEW = datetime.timedelta(hours=1)
ADMIN = "admin"
MASTERS = "system:masters"
# The authority has the names that operators' rotators of certificates give their own, and the servers' certificate has
# those of their services: so they find nothing to renew, and what they hand on is what serves on loopback.
AUTHORITIES = ("training-operator-ca", "kueue-ca")
HOSTS = ("localhost", "127.0.0.1", "training-operator.kubeflow.svc", "kueue-webhook-service.kueue-system.svc")


class Identities(msgspec.Struct, frozen=True):
    """Files in one folder, made once for a cluster."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def authority_key(self) -> Path:
        return self.folder / "ca.key"

    @property
    def certificate(self) -> Path:
        """The certificate of all servers, under the name that controllers expect in a folder of certificates."""
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    @property
    def accounts_key(self) -> Path:
        return self.folder / "accounts.key"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    def tls(self) -> ssl.SSLContext:
        return context_for(self.authority.read_text())

    def bundle(self) -> str:
        return base64.b64encode(self.authority.read_bytes()).decode()


def identify(folder: Path) -> Identities:
    made = Identities(folder)
    authority_key, key, accounts = (rsa.generate_private_key(65537, 2048) for _ in range(3))
    authority = _certificate(AUTHORITIES[0], authority_key, None)
    certificate = _certificate("understudy test cluster", key, (authority, authority_key))
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    for path, secret in ((made.authority_key, authority_key), (made.key, key), (made.accounts_key, accounts)):
        path.write_bytes(_pem(secret))
    return made


def _certificate(
    name: str, key: rsa.RSAPrivateKey, issuer: tuple[x509.Certificate, rsa.RSAPrivateKey] | None
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = AUTHORITIES if issuer is None else HOSTS
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_host(name) for name in names]), critical=False)
    )
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256())


def _host(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdecimal() else x509.DNSName(name)


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


class Users(msgspec.Struct, frozen=True):
    """The users with static tokens, each in a group and with a kubeconfig."""

    tokens: dict[str, str]

    def write(self, path: Path, groups: dict[str, str]) -> None:
        lines = (f'{token},{name},{name},"{groups[name]}"\n' for name, token in self.tokens.items())
        path.write_text("".join(lines))
        path.chmod(0o600)

    def kubeconfig(self, name: str, server: str, identities: Identities) -> Path:
        return write_kubeconfig(identities, server, name, self.tokens[name])


def users(groups: dict[str, str]) -> Users:
    return Users({name: secrets.token_urlsafe(24) for name in groups})


def write_kubeconfig(identities: Identities, server: str, name: str, token: str) -> Path:
    path = identities.folder / f"{name.replace(':', '-')}.kubeconfig"
    path.write_bytes(msgspec.yaml.encode(_config(server, identities.bundle(), token)))
    path.chmod(0o600)
    return path


def _config(server: str, bundle: str, token: str) -> dict[str, object]:
    name = "understudy-test"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": bundle}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
