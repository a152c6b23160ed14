"""An authority and a server's certificate without key identifiers and key usages, as many clusters still have them."""

import datetime
import ipaddress
import ssl
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from understudy.embedded.clusters.certificates import Identity
from understudy.embedded.clusters.credentials import LOCAL

DAY = datetime.timedelta(days=1)


def plain_identity(hosts: tuple[str, ...] = LOCAL, *, ends_in: datetime.timedelta = DAY) -> Identity:
    """A new authority each time, and a certificate of its making for these hosts."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("cluster authority")
    now = datetime.datetime.now(datetime.UTC)
    authority = (
        _builder(issuer, issuer, authority_key)
        .not_valid_after(now + DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name("kube-apiserver"), issuer, key)
        .not_valid_after(now + ends_in)
        .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Identity(_pem(authority), _pem(certificate), _key_pem(key), now + ends_in)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime.now(datetime.UTC) - 2 * DAY)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdecimal() else x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def make_default_contexts_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default of Python 3.13, on every Python."""
    default = ssl.create_default_context

    def strict(*arguments: Any, **settings: Any) -> ssl.SSLContext:
        context = default(*arguments, **settings)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
