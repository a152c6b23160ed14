"""A real server under requests that Hypothesis makes up: it never fails, always answers in Kubernetes' words, forgets
nothing, and can still show everything it has stored."""

import contextlib
import os
import ssl
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.faults.running import ServerProcess, running_server
from tests.faults.wires import Reply, Wire, asked, tls_line
from tests.fuzz.requests import TABLE, Asked, Manner, requests
from tests.fuzz.seeds import GADGETS, SEEDS, WIDGETS, Seed, definition
from understudy.objects.resources import CONFIG_MAPS, DEFINITIONS, NAMESPACES

EXAMPLES = int(os.environ.get("UNDERSTUDY_FUZZ_EXAMPLES", "300"))
CANARY: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "canary"},
    "data": {"sings": "yes"},
}
CAGE = "cage"
GLANCE = 0.05  # seconds that a stream is listened to
NOT_HTTP = b"Invalid HTTP request received."
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Fuzzed:
    """The server, one connection to it at a time, and the canary as it was at first."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._wire: Wire | None = None
        self.post(NAMESPACES.path(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CAGE}})
        self.canary = self.post(CONFIG_MAPS.path(CAGE), CANARY).body
        for resource in (GADGETS, WIDGETS):
            self.post(DEFINITIONS.path(), Seed(DEFINITIONS, definition(resource)).document(resource.key))
        for seed in SEEDS:
            if seed.resource not in (DEFINITIONS, NAMESPACES):
                self.post(seed.resource.path("default"), seed.document("one"))

    def post(self, path: str, document: dict[str, Any]) -> Reply:
        """Something the server must take."""
        reply = asked(self.server.config, "POST", path, msgspec.json.encode(document))
        assert reply.status == 201, f"{path}: {reply.body.decode()}"
        return reply

    def ask(self, request: Asked) -> Reply | None:
        """None where the answer was not waited for."""
        wire = self._wire or Wire(self.server.config, tls_line(self.server.config))
        self._wire = None
        headers = {name.replace("-", "_"): value for name, value in request.headers.items()}
        sent = wire.request(request.method, request.path, request.body, **headers)
        try:
            return self._answer(wire, request, sent)
        finally:
            if self._wire is not wire:
                wire.line.close()

    def _answer(self, wire: Wire, request: Asked, sent: bytes) -> Reply | None:
        if request.manner is Manner.HALF:
            wire.send(sent[: len(sent) // 2])
            return None
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # it has answered before it had read everything
            wire.send(sent)
        if request.manner is Manner.UNREAD:
            return None
        if request.streams:
            return _begun(wire)
        reply = wire.reply(request.method)
        if reply.headers.get("connection") != "close":
            self._wire = wire
        return reply

    def close(self) -> None:
        if self._wire is not None:
            self._wire.line.close()


def _begun(wire: Wire) -> Reply | None:
    """The answer, unless it is one that goes on."""
    wire.line.settimeout(GLANCE)
    try:
        return wire.reply()
    except TimeoutError:
        return None


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with running_server() as server:
        fuzzed = Fuzzed(server)
        yield fuzzed
        fuzzed.close()


def check_reply(request: Asked, reply: Reply) -> None:
    if request.method == "HEAD":
        assert reply.status < 500 or reply.status in (501, 503, 504)
        return
    if reply.status < 400:
        if reply.headers["content-type"].startswith("application/json"):
            for line in reply.body.splitlines() if request.streams else [reply.body]:
                msgspec.json.decode(line)
        return
    if reply.body == NOT_HTTP:
        return
    code, reason = reply.told
    if code >= 500:
        assert (code, reason) in ((501, "NotImplemented"), (503, "ServiceUnavailable"), (504, "Timeout")), reply.body
        assert code != 504 or b"ResourceVersionTooLarge" in reply.body


def check_canary(fuzzed: Fuzzed) -> None:
    reply = asked(fuzzed.server.config, "GET", CONFIG_MAPS.path(CAGE, "canary"))
    assert (reply.status, reply.body) == (200, fuzzed.canary)


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # the server remembers, so a failure cannot be made smaller
)
@given(request=requests())
def test_every_answer_is_one_that_kubernetes_could_give(fuzzed: Fuzzed, request: Asked) -> None:
    reply = fuzzed.ask(request)
    if reply is not None:
        check_reply(request, reply)
    check_canary(fuzzed)


def everything(server: ServerProcess) -> dict[str, list[Any]]:
    """All objects by path, seen in every way there is."""
    found = {}
    for path in _collections(server):
        reply = asked(server.config, "GET", path)
        assert reply.status == 200, reply.body
        items = reply.document["items"]
        for accept in (TABLE, PARTIAL):
            shown = asked(server.config, "GET", path, Accept=accept)
            assert shown.status == 200, shown.body
            assert len(shown.document.get("rows", shown.document.get("items"))) == len(items)
        found[path] = items
    return found


def _collections(server: ServerProcess) -> list[str]:
    groups = asked(server.config, "GET", "/apis").document["groups"]
    versions = [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]
    return [
        f"{place}/{resource['name']}"
        for place in ("/api/v1", *versions)
        for resource in asked(server.config, "GET", place).document["resources"]
        if "list" in resource["verbs"]
    ]


def test_all_that_was_stored_can_be_shown_even_after_a_restart(fuzzed: Fuzzed) -> None:
    before = everything(fuzzed.server)
    fuzzed.server.kill()
    fuzzed.server.start()
    fuzzed.server.wait_until_ready()
    assert everything(fuzzed.server) == before
    assert sum(map(len, before.values())) > len(SEEDS)


def test_nothing_took_the_server_by_surprise(fuzzed: Fuzzed) -> None:
    fuzzed.server.check_health()
    check_canary(fuzzed)
