"""What the API serves, as data: each resource, the form its objects have, and the sub-resources it answers on."""

import enum
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.objects.resources import Resource


class Strictness(enum.StrEnum):
    """What to do about fields nobody knows: Kubernetes' fieldValidation."""

    STRICT = "Strict"
    WARN = "Warn"
    IGNORE = "Ignore"


class Draft(Protocol):
    """An object on its way into the store, or out of it."""

    @property
    def metadata(self) -> ObjectMeta: ...

    def encode(self) -> bytes:
        """As JSON, as it is now."""
        ...

    def document(self) -> dict[str, Any]:
        """As plain dicts and lists; a copy."""
        ...


class DecodedObject(NamedTuple):
    draft: Draft
    warnings: tuple[str, ...] = ()


Lookup = Callable[[Resource, str, str], Draft | None]  # (resource, namespace, name): another object, as it is now


class Form(Protocol):
    """What the objects of one resource may say. Raises ApiError: 400 where it cannot be read, 422 where it is wrong."""

    @property
    def list_keys(self) -> Mapping[str, tuple[str, ...]]:
        """Lists merged by key, by dotted path without indexes: {'spec.containers': ('name',), ...}.
        An empty tuple: a set. Not there: replaced as a whole. The first key is the strategic merge key."""
        ...

    def read(self, body: bytes, strictness: Strictness) -> DecodedObject:
        """JSON from outside: typed, unknown fields dealt with, defaults filled in."""
        ...

    def convert(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        """The same for plain dicts, such as a patched object."""
        ...

    def load(self, body: bytes) -> Draft:
        """From the store: right already."""
        ...

    def admit_create(self, draft: Draft, lookup: Lookup) -> None:
        """What a new object gets from the cluster (a priority by its class), status as it begins, then all checks."""
        ...

    def admit_update(self, draft: Draft, old: Draft, sub: str, lookup: Lookup) -> None:
        """`sub` is '' or 'status': each leaves the other's part as it was. Then checks, also of what must not change.
        Sets metadata.generation."""
        ...


class Column(msgspec.Struct, frozen=True):
    """A column of a server-side table. `priority` above 0 shows with -o wide only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class ServedResource(msgspec.Struct, frozen=True):
    resource: Resource  # in the version it is stored in
    form: Form
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()  # status, binding, eviction, log, exec
    other_versions: tuple[str, ...] = ()  # the same objects under another version: v1beta1
    printer_columns: tuple[tuple[Column, str], ...] = ()  # of a custom resource: with their JSONPaths
    keeps_versions: bool = False  # objects stay in the version they were made in, whichever is asked for
