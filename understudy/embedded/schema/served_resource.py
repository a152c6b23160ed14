"""A served resource as data: its names, the form of its objects, its sub-resources and columns."""

import enum
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.objects.resources import Resource


class Strictness(enum.StrEnum):
    """What to do with unknown fields: Kubernetes' fieldValidation."""

    STRICT = "Strict"
    WARN = "Warn"
    IGNORE = "Ignore"


class Draft(Protocol):
    """A decoded object: read from a request or from the store."""

    @property
    def metadata(self) -> ObjectMeta: ...

    def encode(self) -> bytes:
        """The object as JSON."""
        ...

    def document(self) -> dict[str, Any]:
        """A copy of the object as plain dicts and lists."""
        ...


class DecodedObject(NamedTuple):
    draft: Draft
    warnings: tuple[str, ...] = ()


Lookup = Callable[[Resource, str, str], Draft | None]  # (resource, namespace, name): another object, as it is now


class Form(Protocol):
    """The schema, defaults and validation of one resource. Raises ApiError: 400 for an unreadable object, 422 for an
    invalid one."""

    @property
    def list_keys(self) -> Mapping[str, tuple[str, ...]]:
        """Lists merged by key, by dotted path without indexes: {'spec.containers': ('name',), ...}.
        An empty tuple: a set. Not listed: replaced as a whole. The first key is the strategic merge key."""
        ...

    def read(self, body: bytes, strictness: Strictness) -> DecodedObject:
        """JSON from a request: decoded, with defaults; unknown fields are treated as `strictness` says."""
        ...

    def convert(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        """The same for plain dicts, such as a patched object."""
        ...

    def load(self, body: bytes) -> Draft:
        """An object from the store, which is valid already."""
        ...

    def admit_create(self, draft: Draft, lookup: Lookup) -> None:
        """Fills in what a new object gets from the cluster (a priority by its class) and its first status, then
        validates."""
        ...

    def admit_update(self, draft: Draft, old: Draft, sub: str, lookup: Lookup) -> None:
        """`sub` is '' or 'status': each leaves the other's part as it was. Validates, also that immutable fields are
        unchanged. Sets metadata.generation."""
        ...


class Column(msgspec.Struct, frozen=True):
    """A column of a server-side table. `priority` above 0 shows with -o wide only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


InVersion = Callable[[dict[str, Any], str], dict[str, Any]]  # (stored document, apiVersion): as that version has it
PrinterColumns = tuple[tuple[Column, str], ...]  # with their JSONPaths


class ServedResource(msgspec.Struct, frozen=True):
    resource: Resource  # in the stored version
    form: Form
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()  # status, binding, eviction, log, exec
    other_versions: tuple[str, ...] = ()  # the same objects under another version: v1beta1
    printer_columns: PrinterColumns = ()  # of a custom resource
    keeps_versions: bool = False  # objects stay in the version they were created in, whichever version is requested
    kept_columns: tuple[tuple[str, PrinterColumns], ...] = ()  # by apiVersion, where objects keep their version
    deprecations: tuple[tuple[str, str], ...] = ()  # deprecated versions, and what a client is warned of
    warning: str = ""  # said with every create and update: what the object does not do here
    in_version: InVersion | None = None  # where `other_versions` differ in more than their name
