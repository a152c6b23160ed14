"""Drafts into writes of the store, which say their own revision."""

from collections.abc import Callable

import msgspec

from understudy.embedded.api.errors import ApiError
from understudy.embedded.api.served import Draft
from understudy.embedded.store.records import Key, Put, Record, Remove

MAX_OBJECT = 3 * 512 * 1024  # bytes: as much as the store of a real cluster takes


def put(key: Key, draft: Draft) -> Put:
    return Put(key, _stamping(draft))


def remove(record: Record) -> Remove:
    """Watchers are told the object as it last was."""
    return Remove(record.key, lambda revision: at_revision(record.body, revision))


def take_away(record: Record, draft: Draft) -> Remove:
    """Watchers are told the draft, as what it has come to at last."""
    return Remove(record.key, _stamping(draft))


def _stamping(draft: Draft) -> Callable[[int], bytes]:
    def body(revision: int) -> bytes:
        draft.metadata.resource_version = str(revision)
        encoded = draft.encode()
        check_size(len(encoded))
        return encoded

    return body


def check_size(size: int) -> None:
    """A kube-apiserver hands on etcd's refusal as a 500, which clients take for trouble that passes; 413 does not."""
    if size > MAX_OBJECT:
        said = f"the object has {size} bytes, at most {MAX_OBJECT} can be stored"
        raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {said}")


def at_revision(body: bytes, revision: int) -> bytes:
    document = msgspec.json.decode(body)
    document["metadata"]["resourceVersion"] = str(revision)
    return msgspec.json.encode(document)
