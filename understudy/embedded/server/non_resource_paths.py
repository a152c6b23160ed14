"""The non-resource paths: version, health, discovery, OpenAPI."""

import platform
from collections.abc import Callable, Mapping

import msgspec

from understudy import __version__
from understudy.embedded.api import discovery
from understudy.embedded.schema import openapi
from understudy.embedded.schema.errors import no_such_path
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.response import TEXT, Response
from understudy.embedded.server.registry.state import ServerState

KUBERNETES = (1, 33)  # the version whose API is served
_encode = msgspec.json.Encoder().encode
_V2_PROTOBUF = b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Document = Callable[[ServerState, Request], Response]


def version(_: ServerState, __: Request) -> Response:
    major, minor = KUBERNETES
    said = {
        "major": str(major),
        "minor": str(minor),
        "gitVersion": f"v{major}.{minor}.0+understudy-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system()}/{platform.machine()}".lower(),
    }
    return Response(_encode(said))


def health(_: ServerState, __: Request) -> Response:
    return Response(b"ok", content_type=TEXT)


def core(state: ServerState, request: Request) -> Response:
    address = request.headers.get(b"host", b"").decode("latin-1")
    return _negotiated(discovery.core(_listed(state), _accept(request), address))


def groups(state: ServerState, request: Request) -> Response:
    return _negotiated(discovery.groups(_listed(state), _accept(request)))


def group(state: ServerState, name: str) -> Response:
    return Response(_encode(discovery.group(_listed(state), name)))


def group_version(state: ServerState, name: str, version_name: str) -> Response:
    return Response(_encode(discovery.version(_listed(state), name, version_name)))


def openapi_v2(_: ServerState, request: Request) -> Response:
    """Empty, which makes old clients leave all checks to the server."""
    if "json" in _accept(request) and "protobuf" not in _accept(request):
        info = {"title": "Understudy", "version": __version__}
        return Response(_encode({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}))
    return Response(b"", content_type=_V2_PROTOBUF)


def openapi_v3(state: ServerState, name: str) -> Response:
    """The index, or the document of one group and version."""
    made = state.resources.derived(openapi.documents)
    if not name:
        return Response(openapi.index(made))
    if name not in made:
        raise no_such_path()
    return Response(made[name])


DOCUMENTS: Mapping[str, Document] = {
    "/version": version,
    "/healthz": health,
    "/livez": health,
    "/readyz": health,
    "/api": core,
    "/apis": groups,
    "/openapi/v2": openapi_v2,
}


def _listed(state: ServerState) -> tuple[discovery.DiscoveredResource, ...]:
    return state.resources.derived(discovery.discovered_resources)


def _accept(request: Request) -> str:
    return request.headers.get(b"accept", b"").decode("latin-1")


def _negotiated(answer: discovery.DiscoveryDocument) -> Response:
    return Response(_encode(answer.document), content_type=answer.content_type.encode())
