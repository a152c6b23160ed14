"""Whom we act for, as the headers that say so."""

from urllib.parse import quote

from understudy.client.config import BadConfig, Impersonation

_KEY = "!#$&'*+-.^_`|~"  # besides letters and digits, what the name of a header may have


def headers_of(acts_for: Impersonation | None) -> list[tuple[str, str]]:
    if acts_for is None:
        return []
    found = [("Impersonate-User", acts_for.user)]
    if acts_for.uid:
        found.append(("Impersonate-Uid", acts_for.uid))
    found += [("Impersonate-Group", group) for group in acts_for.groups]
    for key, values in acts_for.extra:
        found += [(f"Impersonate-Extra-{quote(key, safe=_KEY)}", value) for value in values]
    for name, value in found:
        if not value.isascii() or not value.isprintable():
            raise BadConfig(f"{name}: {value!r} has characters that no header may have")
    return found
