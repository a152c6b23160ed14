"""TLS contexts from the certificates of a configuration."""

import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Iterator

from understudy.client.config import BadConfig, Config


def context_for(authority: str) -> ssl.SSLContext:
    """A context that trusts this authority (PEM), or the system's authorities if none is given.

    Python 3.13 and newer demand what RFC 5280 requires of certificates, such as an Authority Key Identifier. Many
    cluster authorities issue certificates without one, and kubectl accepts them. So this check is disabled for a
    named authority. The chain, the dates and the host name are still checked.
    """
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
