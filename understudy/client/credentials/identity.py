"""What a client shows to a server: a token, a certificate, and the headers of a user it acts for."""

import re
from typing import Protocol
from urllib.parse import quote

import msgspec

from understudy.client.config import BadConfig, Impersonation

_UNSAFE = re.compile(r"[^!-~]")
_HEADER_CHARACTERS = "!#$&'*+-.^_`|~"  # besides letters and digits, what the name of a header may have


class Identity(msgspec.Struct, frozen=True):
    token: str = ""
    certificate: str = ""  # as PEM
    key: str = ""

    def header(self) -> str:
        if _UNSAFE.search(self.token):
            raise BadConfig("the token has characters that no header may have")
        return f"Authorization: Bearer {self.token}\r\n" if self.token else ""


class CredentialSource(Protocol):
    """A source of identities. Raises Unreachable if it cannot provide one."""

    def kept(self) -> Identity | None:
        """The identity that is valid now; None if a new one must be fetched."""
        ...

    async def fresh(self) -> Identity:
        """Fetches a new identity, even if the present one is still valid."""
        ...


def impersonation_headers(acts_for: Impersonation | None) -> list[tuple[str, str]]:
    if acts_for is None:
        return []
    found = [("Impersonate-User", acts_for.user)]
    if acts_for.uid:
        found.append(("Impersonate-Uid", acts_for.uid))
    found += [("Impersonate-Group", group) for group in acts_for.groups]
    for key, values in acts_for.extra:
        found += [(f"Impersonate-Extra-{quote(key, safe=_HEADER_CHARACTERS)}", value) for value in values]
    for name, value in found:
        if not value.isascii() or not value.isprintable():
            raise BadConfig(f"{name}: {value!r} has characters that no header may have")
    return found
