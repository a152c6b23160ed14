"""What only the server says about a new object: its name's place, a uid, when it was made."""

import random

from msgspec import UNSET

from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.store.records import Key


def stamp(meta: ObjectMeta, key: Key, now: str) -> None:
    meta.name = key.name
    meta.namespace = key.namespace or UNSET
    meta.uid = new_uid()
    meta.creation_timestamp = now
    meta.resource_version = UNSET


def new_uid() -> str:
    """A random UUID. It has to be unique, not secret, so it need not come from the kernel."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
