"""The text of a list's page or a watch's line into what it tells of each object: its text, or the object decoded."""

import msgspec

from understudy.objects.bulk_decoding import BULK_DECODERS
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject
from understudy.objects.resources import Resource

ObjectKey = tuple[str, str]  # (namespace, name)


class ObservedObject(msgspec.Struct, gc=False):
    """An object as it is told of: as text or, where that was asked for and could be done, decoded."""

    key: ObjectKey
    uid: str
    revision: str
    raw: bytes = b""
    obj: KubeObject | None = None


ERROR = "ERROR"  # of a line that tells of no object
_NO_OBJECT = ObservedObject(("", ""), "", "")


class ListPage(msgspec.Struct):
    sights: list[ObservedObject]
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
    """Of one resource. What cannot be decoded is told as text: whoever needs it decoded finds out what is wrong."""

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
        """What happened, and to whom."""
        if self._wire is not None:
            try:
                happened, obj = self._wire.line(text)
            except (BadObject, msgspec.DecodeError):  # bookmarks and errors come this way too: they are no objects
                pass
            else:
                return happened, self._seen(obj)
        line = _line(text)
        return line.type, _NO_OBJECT if line.type == ERROR else self._read(line.object)

    def gone(self, key: ObjectKey, uid: str) -> bytes:
        """As much of an object as is known of one that was not kept."""
        namespace, name = key
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": uid}
        return self._head + msgspec.json.encode({"metadata": metadata})[1:]

    def _seen(self, obj: KubeObject) -> ObservedObject:
        meta = obj.metadata
        key = (meta.namespace if self._namespaced else "", meta.name)
        return ObservedObject(key, meta.uid, meta.resource_version, b"", obj)

    def _read(self, raw: msgspec.Raw) -> ObservedObject:
        found, body = _object(raw), bytes(raw)
        if not found.kind:  # the items of a list leave it to the list to say what they are
            body = self._head + body.lstrip()[1:]
        meta = found.metadata
        return ObservedObject((meta.namespace, meta.name), meta.uid, meta.resource_version, body)
