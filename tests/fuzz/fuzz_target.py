"""The fuzzed server: one connection at a time, and what must hold for every response."""

import contextlib
import ssl
from typing import Any

import msgspec

from tests.faults.server_process import ServerProcess
from tests.faults.wires import Reply, Wire, asked, tls_line
from tests.fuzz.request_strategies import NAMES, Asked, Manner
from tests.fuzz.seed_objects import GADGETS, SEEDS, WIDGETS, Seed, definition
from understudy.objects.resources import CONFIG_MAPS, DEFINITIONS, NAMESPACES

CAGE = "cage"
CANARY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "canary"}, "data": {"sings": "yes"}}
TEND_EVERY = 100
GLANCE = 0.05  # seconds that a stream is listened to
NOT_HTTP = b"Invalid HTTP request received."
# 504 is Kubernetes' answer to a resource version from the future; the others say that it is no use asking now.
EXCUSES = ((501, "NotImplemented"), (503, "ServiceUnavailable"), (504, "Timeout"))


class Fuzzed:
    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._wire: Wire | None = None
        self._asked = 0
        self.create(NAMESPACES.path(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CAGE}})
        self._canary = self.create(CONFIG_MAPS.path(CAGE), CANARY).body

    def create(self, path: str, document: dict[str, Any]) -> Reply:
        """Something the server must take, unless it has it already."""
        reply = asked(self.server.config, "POST", path, msgspec.json.encode(document))
        assert reply.status in (201, 409), f"{path}: {reply.body.decode()}"
        return reply

    def check(self, request: Asked) -> Reply | None:
        """Asks, and checks the answer and that the canary is well. None where the answer was not waited for."""
        if self._asked % TEND_EVERY == 0:
            self._tend()
        self._asked += 1
        reply = self._ask(request)
        if reply is not None:
            check_reply(request, reply)
        found = asked(self.server.config, "GET", CONFIG_MAPS.path(CAGE, "canary"))
        assert (found.status, found.body) == (200, self._canary)
        return reply

    def close(self) -> None:
        if self._wire is not None:
            self._wire.line.close()

    def _tend(self) -> None:
        """Brings back what was deleted, so that there is something to change."""
        for resource in (GADGETS, WIDGETS):
            self.create(DEFINITIONS.path(), Seed(DEFINITIONS, definition(resource)).document(resource.key))
        for seed in SEEDS:
            for name in NAMES if seed.resource not in (DEFINITIONS, NAMESPACES) else ():
                path = seed.resource.path("default")
                asked(self.server.config, "POST", path, msgspec.json.encode(seed.document(name)))

    def _ask(self, request: Asked) -> Reply | None:
        wire = self._wire or Wire(self.server.config, tls_line(self.server.config))
        self._wire = None
        try:
            return self._answer(wire, request)
        finally:
            if self._wire is not wire:
                wire.line.close()

    def _answer(self, wire: Wire, request: Asked) -> Reply | None:
        headers = {name.replace("-", "_"): value for name, value in request.headers.items()}
        sent = wire.request(request.method, request.path, request.body, **headers)
        if request.manner is Manner.HALF:
            wire.send(sent[: len(sent) // 2])
            return None
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # it may answer before it has read everything
            wire.send(sent)
        if request.manner is Manner.UNREAD:
            return None
        if request.streams:
            return _begun(wire)
        reply = wire.reply(request.method)
        if reply.headers.get("connection") != "close":
            self._wire = wire
        return reply


def _begun(wire: Wire) -> Reply | None:
    """The answer, unless it is one that goes on."""
    wire.line.settimeout(GLANCE)
    try:
        return wire.reply()
    except TimeoutError:
        return None


def check_reply(request: Asked, reply: Reply) -> None:
    if request.method == "HEAD":
        assert reply.status < 500
    elif reply.status >= 400:
        if reply.body != NOT_HTTP:
            code, reason = reply.told
            assert code < 500 or (code, reason) in EXCUSES, reply.body
            assert code != 504 or b"ResourceVersionTooLarge" in reply.body
    elif reply.headers["content-type"].startswith("application/json"):
        for line in reply.body.splitlines() if request.streams else [reply.body]:
            msgspec.json.decode(line)


def everything(server: ServerProcess) -> dict[str, list[Any]]:
    """All objects by the path of their collection, each read in every view. A kind whose definition is deleted
    meanwhile is left out."""
    found: dict[str, list[Any]] = {}
    for path in _collections(server):
        try:
            found[path] = _all_of(server, path)
        except AssertionError:
            if path in _collections(server):
                raise
    return found


def _all_of(server: ServerProcess, path: str) -> list[Any]:
    reply = asked(server.config, "GET", path)
    assert reply.status == 200, reply.body
    items: list[Any] = reply.document["items"]
    for view in ("Table", "PartialObjectMetadataList"):
        shown = asked(server.config, "GET", path, Accept=f"application/json;as={view};v=v1;g=meta.k8s.io")
        assert shown.status == 200, shown.body
        assert shown.document["kind"] == view
        assert len(shown.document["rows" if view == "Table" else "items"]) == len(items)
    return items


def _collections(server: ServerProcess) -> list[str]:
    """Of all kinds that are stored. The usage of pods is asked of an agent, which a lone server has not."""
    groups = (g for g in asked(server.config, "GET", "/apis").document["groups"] if g["name"] != "metrics.k8s.io")
    versions = [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]
    return [
        f"{place}/{resource['name']}"
        for place in ("/api/v1", *versions)
        for resource in asked(server.config, "GET", place).document["resources"]
        if "list" in resource["verbs"]
    ]
