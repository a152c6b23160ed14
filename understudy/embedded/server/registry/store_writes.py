"""Drafts of objects into writes of the store; the fields that only the server sets on a new object."""

import random
from collections.abc import Callable
from http import HTTPStatus

from msgspec import UNSET

from understudy.embedded.api.partial_objects import at_revision
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Draft
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.store.records import Key, Put, Record, Remove

MAX_OBJECT = 3 * 512 * 1024  # bytes, as in a real cluster


def put(key: Key, draft: Draft) -> Put:
    return Put(key, _stamping(draft))


def remove(record: Record) -> Remove:
    """Watchers receive the last stored state."""
    return Remove(record.key, lambda revision: at_revision(record.body, revision))


def remove_as(record: Record, draft: Draft) -> Remove:
    """Watchers receive the draft as the last state."""
    return Remove(record.key, _stamping(draft))


def _stamping(draft: Draft) -> Callable[[int], bytes]:
    def body(revision: int) -> bytes:
        draft.metadata.resource_version = str(revision)
        encoded = draft.encode()
        check_size(len(encoded))
        return encoded

    return body


def check_size(size: int) -> None:
    """A kube-apiserver passes on etcd's refusal as a 500, which clients retry. They do not retry a 413."""
    if size > MAX_OBJECT:
        said = f"the object has {size} bytes, at most {MAX_OBJECT} can be stored"
        raise ApiError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", f"Request entity too large: {said}"
        )


def stamp(meta: ObjectMeta, key: Key, now: str) -> None:
    meta.name = key.name
    meta.namespace = key.namespace or UNSET
    meta.uid = new_uid()
    meta.creation_timestamp = now
    meta.resource_version = UNSET


def new_uid() -> str:
    """A random UUID. It has to be unique but not secret, so Python's generator is enough."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
