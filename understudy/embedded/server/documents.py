"""What the API says about itself: version, health, discovery, OpenAPI."""

import platform
from collections.abc import Callable, Mapping

import msgspec

from understudy import __version__
from understudy.embedded.api import discovery
from understudy.embedded.schema import openapi
from understudy.embedded.server.answers import TEXT, Answer
from understudy.embedded.server.calls import Call
from understudy.embedded.server.routes import no_such_path
from understudy.embedded.server.state import State

KUBERNETES = (1, 33)  # the API this one is modelled on
_encode = msgspec.json.Encoder().encode
_V2_PROTOBUF = b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Document = Callable[[State, Call], Answer]


def version(_: State, __: Call) -> Answer:
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
    return Answer(_encode(said))


def health(_: State, __: Call) -> Answer:
    return Answer(b"ok", content_type=TEXT)


def core(state: State, call: Call) -> Answer:
    address = call.headers.get(b"host", b"").decode("latin-1")
    return _negotiated(discovery.core(_listed(state), _accept(call), address))


def groups(state: State, call: Call) -> Answer:
    return _negotiated(discovery.groups(_listed(state), _accept(call)))


def group(state: State, name: str) -> Answer:
    return Answer(_encode(discovery.group(_listed(state), name)))


def group_version(state: State, name: str, version_name: str) -> Answer:
    return Answer(_encode(discovery.version(_listed(state), name, version_name)))


def openapi_v2(_: State, call: Call) -> Answer:
    """An empty description, which old clients take for "anything goes": checking is left to the server."""
    if "json" in _accept(call) and "protobuf" not in _accept(call):
        info = {"title": "Understudy", "version": __version__}
        return Answer(_encode({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}))
    return Answer(b"", content_type=_V2_PROTOBUF)


def openapi_v3(state: State, name: str) -> Answer:
    """The index, or the document of one group version."""
    made = state.registry.made(openapi.documents)
    if not name:
        return Answer(openapi.index(made))
    if name not in made:
        raise no_such_path()
    return Answer(made[name])


DOCUMENTS: Mapping[str, Document] = {
    "/version": version,
    "/healthz": health,
    "/livez": health,
    "/readyz": health,
    "/api": core,
    "/apis": groups,
    "/openapi/v2": openapi_v2,
}


def _listed(state: State) -> tuple[discovery.Listed, ...]:
    return state.registry.made(discovery.listed)


def _accept(call: Call) -> str:
    return call.headers.get(b"accept", b"").decode("latin-1")


def _negotiated(answer: discovery.Answer) -> Answer:
    return Answer(_encode(answer.document), content_type=answer.content_type.encode())
