"""JSON Web Tokens (ES256): claims signed and verified with the cluster's own key."""

import base64
import binascii
import contextlib
import hashlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LONGEST_TOKEN = 16 * 1024
_HALF = 32  # bytes; a signature is two numbers


class NotSigned(Exception):
    """The text is not a token that this cluster has signed."""


class _Header(msgspec.Struct, frozen=True):
    alg: str = ""
    kid: str = ""


class SigningKey:
    """The key in a file, which is created if missing. The library that reads it is slow to load, so it is loaded at the
    first use, or earlier by a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._key: EllipticCurvePrivateKey | None = None
        self._id = ""

    def load(self) -> "EllipticCurvePrivateKey":
        """Raises OSError, and ValueError where the file holds no key."""
        with self._lock:
            if self._key is None:
                self._key = _read_or_make(self._path)
                self._id = _thumbprint(self._key)
            return self._key

    def sign(self, claims: Mapping[str, Any]) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        key = self.load()
        head = msgspec.json.encode({"alg": "ES256", "kid": self._id})
        text = f"{_encoded(head)}.{_encoded(msgspec.json.encode(claims))}"
        r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_encoded(r.to_bytes(_HALF, 'big') + s.to_bytes(_HALF, 'big'))}"

    def verify(self, token: bytes) -> bytes:
        """The claims as JSON. Raises NotSigned. The caller checks the claims."""
        head, payload, signature = _parts(token)
        key = self.load()
        if head.alg != "ES256" or head.kid != self._id or len(signature) != 2 * _HALF:
            raise NotSigned("it is signed by another key")
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        r, s = int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big")
        signed = token[: token.rindex(b".")]
        try:
            key.public_key().verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise NotSigned("its signature is wrong") from None
        return payload


def _parts(token: bytes) -> tuple[_Header, bytes, bytes]:
    pieces = token.split(b".") if len(token) <= LONGEST_TOKEN else []
    if len(pieces) != 3:
        raise NotSigned("it is no JSON Web Token")
    try:
        head, payload, signature = map(_decoded, pieces)
        return msgspec.json.decode(head, type=_Header), payload, signature
    except (binascii.Error, ValueError, RecursionError):
        raise NotSigned("it is no JSON Web Token") from None


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _read_or_make(path: Path) -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    with contextlib.suppress(FileNotFoundError):
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{path} holds no elliptic curve key; remove it, and the server creates a new one")
        return key
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as stream:
        stream.write(pem)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(aside, path)
    return key


def _thumbprint(key: "EllipticCurvePrivateKey") -> str:
    from cryptography.hazmat.primitives import serialization

    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _encoded(hashlib.sha256(public).digest())
