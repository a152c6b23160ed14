"""Decodes a page of a list, or a line of a watch, into the objects it contains: their texts or decoded structs."""

import msgspec

from understudy.objects.bulk_decoding import BULK_DECODERS
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject
from understudy.objects.resources import Resource

ObjectKey = tuple[str, str]  # (namespace, name)


class ObservedObject(msgspec.Struct, gc=False):
    """An object in a response: its text or, if requested and possible, the decoded struct."""

    key: ObjectKey
    uid: str
    revision: str
    raw: bytes = b""
    obj: KubeObject | None = None


ERROR = "ERROR"  # type of a watch line without an object
_NO_OBJECT = ObservedObject(("", ""), "", "")


class ListPage(msgspec.Struct):
    objects: list[ObservedObject]
    revision: str
    more: str


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata
    kind: str = ""


class _ListMetadata(msgspec.Struct, gc=False):
    revision: str = msgspec.field(name="resourceVersion", default="")
    more: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


_object = msgspec.json.Decoder(_Object).decode
_page = msgspec.json.Decoder(_Page).decode
_line = msgspec.json.Decoder(_Line).decode


class WatchDecoder:
    """For one resource. An object that cannot be decoded is passed on as text; its consumer reports what is wrong."""

    def __init__(self, resource: Resource, decoded: bool) -> None:
        self._wire = BULK_DECODERS.get(resource) if decoded else None
        self._head = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind})[:-1] + b","
        self._namespaced = resource.namespaced

    def page(self, text: bytes) -> ListPage:
        if self._wire is not None:
            try:
                page = self._wire.page(text)
            except (BadObject, msgspec.DecodeError):
                pass
            else:
                return ListPage([self._seen(obj) for obj in page.objects], page.revision, page.more)
        listed = _page(text)
        return ListPage([self._read(raw) for raw in listed.items or ()], listed.metadata.revision, listed.metadata.more)

    def line(self, text: bytes) -> tuple[str, ObservedObject]:
        """The type of the event and its object."""
        if self._wire is not None:
            try:
                happened, obj = self._wire.line(text)
            except (BadObject, msgspec.DecodeError):  # bookmarks and errors: they are not objects of the resource
                pass
            else:
                return happened, self._seen(obj)
        line = _line(text)
        return line.type, _NO_OBJECT if line.type == ERROR else self._read(line.object)

    def gone(self, key: ObjectKey, uid: str) -> bytes:
        """A minimal object, for a deletion whose last state was not kept."""
        namespace, name = key
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": uid}
        return self._head + msgspec.json.encode({"metadata": metadata})[1:]

    def _seen(self, obj: KubeObject) -> ObservedObject:
        meta = obj.metadata
        key = (meta.namespace if self._namespaced else "", meta.name)
        return ObservedObject(key, meta.uid, meta.resource_version, b"", obj)

    def _read(self, raw: msgspec.Raw) -> ObservedObject:
        found, body = _object(raw), bytes(raw)
        if not found.kind:  # items of a list carry neither apiVersion nor kind
            body = self._head + body.lstrip()[1:]
        meta = found.metadata
        return ObservedObject((meta.namespace, meta.name), meta.uid, meta.resource_version, body)
