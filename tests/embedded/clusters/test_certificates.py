"""Certificates that clients accept for the right names and for no others."""

import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest

from understudy.embedded.clusters.certificates import LIFETIME, Identity, identity

NOW = datetime.datetime.now(datetime.UTC)
MADE = identity("test", ["localhost", "127.0.0.1", "node.example.org"], NOW)


def shaken_hands(tmp_path: Path, made: Identity, name: str) -> None:
    """A TLS handshake with a server that shows this certificate, as a client that trusts its authority."""
    file = tmp_path / "server.pem"
    file.write_bytes(made.certificate + made.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    client = ssl.create_default_context(cadata=made.authority.decode())
    here, there = socket.socketpair()

    def serve() -> None:
        try:
            server.wrap_socket(there, server_side=True).close()
        except OSError:
            there.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(here, server_hostname=name):
            pass
    finally:
        here.close()
        thread.join()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "node.example.org"])
def test_it_is_accepted_by_its_names(tmp_path: Path, name: str) -> None:
    shaken_hands(tmp_path, MADE, name)


@pytest.mark.parametrize("name", ["example.org", "10.0.0.7"])
def test_it_is_refused_by_others(tmp_path: Path, name: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(tmp_path, MADE, name)


def test_it_is_refused_when_it_has_ended(tmp_path: Path) -> None:
    old = identity("test", ["localhost"], NOW - LIFETIME - datetime.timedelta(days=1))
    assert old.renew_at < NOW
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shaken_hands(tmp_path, old, "localhost")
