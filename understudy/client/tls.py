"""What both sides of a connection prove who they are with: certificates into a context of OpenSSL."""

import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Iterator

from understudy.client.config import BadConfig, Config


def context_for(authority: str) -> ssl.SSLContext:
    """A context that trusts this authority (PEM), or the system's authorities where none is given.

    Python 3.13 and newer ask for what RFC 5280 demands of certificates, an Authority Key Identifier for instance. Many
    clusters' own authorities issue certificates without one, and kubectl accepts them. So that one check is left out
    for an authority that is named; the chain, the dates and the host name are checked as ever."""
    context = ssl.create_default_context(cadata=authority or None)
    if authority:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def context_of(config: Config, certificate: str, key: str) -> ssl.SSLContext:
    try:
        context = context_for(config.authority)
        if config.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate:
            with _temporary_file(certificate + "\n" + key) as path:
                context.load_cert_chain(path)
    except (ssl.SSLError, ValueError) as error:
        raise BadConfig(f"{config.server}: the certificates cannot be used: {error_text(error)}") from None
    return context


@contextlib.contextmanager
def _temporary_file(pem: str) -> Iterator[str]:
    """OpenSSL reads client certificates from files only."""
    descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(pem)
        yield path
    finally:
        os.unlink(path)


def error_text(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno).lower()
    return str(error)
