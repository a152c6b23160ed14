"""ConfigMaps and Secrets: keys, sizes, and the ones that must not change."""

import json
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.api.errors import Cause
from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import member
from understudy.embedded.schema.configs import ConfigMap, Secret
from understudy.embedded.schema.rules import names
from understudy.embedded.schema.rules.changes import alike

MAX_BYTES = 1024 * 1024
_FIXED = "field is immutable when `immutable` is set"
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def check_config_map(config: ConfigMap) -> Iterator[Cause]:
    texts, blobs = config.data or {}, config.binary_data or {}
    for name, keys in (("data", texts), ("binaryData", blobs)):
        yield from _keys(keys, name)
    yield from (
        causes.bad_value(member("data", key), key, "duplicate of key present in binaryData")
        for key in texts
        if key in blobs
    )
    if sum(len(text.encode()) for text in texts.values()) + sum(map(len, blobs.values())) > MAX_BYTES:
        yield causes.too_long("", MAX_BYTES)


def _keys(keys: object, field: str) -> Iterator[Cause]:
    for key in keys if isinstance(keys, dict) else ():
        problem = names.config_key(key) or (f"must not be '{key}'" if key in (".", "..") else "")
        if problem or key.startswith("../"):
            yield causes.bad_value(member(field, key), key, problem or "must not start with '..'")


def changed_config_map(new: ConfigMap, old: ConfigMap) -> Iterator[Cause]:
    if old.immutable is not True:
        return
    if new.immutable is not True:
        yield causes.not_allowed("immutable", _FIXED)
    if not alike(new.data, old.data):
        yield causes.not_allowed("data", _FIXED)
    if not alike(new.binary_data, old.binary_data):
        yield causes.not_allowed("binaryData", _FIXED)


def complete_secret(secret: Secret) -> None:
    """What is written in plain letters becomes data like the rest."""
    if secret.string_data:
        plain = {key: text.encode() for key, text in secret.string_data.items()}
        secret.data = {**(secret.data or {}), **plain}
    secret.string_data = UNSET


def check_secret(secret: Secret) -> Iterator[Cause]:
    data = secret.data or {}
    yield from _keys(data, "data")
    if sum(map(len, data.values())) > MAX_BYTES:
        yield causes.too_long("data", MAX_BYTES)
    for key in _NEEDED_KEYS.get(secret.type, ()):
        if key not in data:
            yield causes.required(member("data", key))
        elif "docker" in key and not _is_json(data[key]):
            yield causes.bad_value(member("data", key), "<secret contents redacted>", "invalid JSON")


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def changed_secret(new: Secret, old: Secret) -> Iterator[Cause]:
    if new.type != old.type:
        yield causes.bad_value("type", new.type, "field is immutable")
    if old.immutable is not True:
        return
    if new.immutable is not True:
        yield causes.not_allowed("immutable", _FIXED)
    if not alike(new.data, old.data):
        yield causes.not_allowed("data", _FIXED)
