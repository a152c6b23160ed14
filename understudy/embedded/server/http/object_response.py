"""Stored objects in the view the client asked for: the objects, rows of a table, or their metadata alone."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from understudy.embedded.api.negotiation import RESOURCE_VIEWS, View, negotiated
from understudy.embedded.api.partial_objects import partial_metadata, partial_metadata_list
from understudy.embedded.api.tables.table import Include, table
from understudy.embedded.schema.errors import bad_request
from understudy.embedded.server.http.pagination import Page
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response
from understudy.objects.resources import EVENTS

_encode = msgspec.json.Encoder().encode
_HEAD = b'{"apiVersion":"'


class _ListMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    resource_version: str
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


def in_version_of(target: Target) -> Callable[[bytes], bytes]:
    """Makes stored objects into those of the requested version."""
    convert = target.served.in_version
    if convert is not None and target.version != target.served.resource.version:
        return lambda body: _encode(convert(msgspec.json.decode(body), target.api_version))
    return partial(_renamed, head_of(target))


def _renamed(head: bytes, body: bytes) -> bytes:
    """The versions of nearly all resources differ only in apiVersion, the first field of every body."""
    return body if body.startswith(head) else head + body[body.index(b'"', len(_HEAD)) + 1 :]


def head_of(target: Target) -> bytes:
    """The first bytes of every body. Resources that keep versions are sent in the stored one."""
    return _HEAD if target.served.keeps_versions else b'%s%s"' % (_HEAD, target.api_version.encode())


def view_of(request: Request) -> View:
    accept = request.headers.get(b"accept")
    return negotiated(accept.decode("latin-1"), RESOURCE_VIEWS) if accept else View.OBJECT


def object_response(request: Request, target: Target, body: bytes, code: int = 200) -> Response:
    match view_of(request):
        case View.TABLE:
            return Response(_encode(table(target.served, [body], request.now, include_of(request))), code)
        case View.PARTIAL | View.PARTIAL_LIST:
            return Response(_encode(partial_metadata(body)), code)
        case _:
            return Response(in_version_of(target)(body), code)


def page_response(request: Request, target: Target, page: Page) -> Response:
    records = page.records
    if target.served.resource == EVENTS and view_of(request) is View.TABLE:
        records = sorted(records, key=lambda record: record.revision)  # in the order in which they happened
    bodies = [record.body for record in records]
    return _present(request, target, bodies, _ListMeta(str(page.revision), page.token, page.remaining))


def list_response(request: Request, target: Target, bodies: Sequence[bytes], revision: int) -> Response:
    return _present(request, target, bodies, _ListMeta(str(revision)))


def _present(request: Request, target: Target, bodies: Sequence[bytes], meta: _ListMeta) -> Response:
    match view_of(request):
        case View.TABLE:
            shown = table(target.served, bodies, request.now, include_of(request))
            return Response(_encode(shown | {"metadata": meta}))
        case View.PARTIAL | View.PARTIAL_LIST:
            return Response(_encode(partial_metadata_list(bodies, msgspec.to_builtins(meta))))
        case _:
            kind = f'{{"kind":"{target.served.resource.kind}List","apiVersion":"{target.api_version}","metadata":'
            items = b",".join(map(in_version_of(target), bodies))
            return Response(b"".join((kind.encode(), _encode(meta), b',"items":[', items, b"]}")))


def include_of(request: Request) -> Include:
    try:
        return Include(request.query.get("includeObject") or Include.METADATA)
    except ValueError:
        raise bad_request("includeObject: use None, Metadata or Object") from None
