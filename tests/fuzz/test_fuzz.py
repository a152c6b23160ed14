"""A real server under random requests: it never fails, answers every request with a Status or an object, and can show
all it has stored. UNDERSTUDY_FUZZ_EXAMPLES sets the number of requests; `make fuzz` takes two minutes."""

import itertools
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.faults.server_process import running_server
from tests.fuzz.fuzz_target import Fuzzed, everything
from tests.fuzz.request_strategies import Asked, requests
from tests.fuzz.schema_strategies import Definition, definitions
from understudy.objects.resources import DEFINITIONS, Resource
from understudy.ports import PatchForm

EXAMPLES = int(os.environ.get("UNDERSTUDY_FUZZ_EXAMPLES", "60"))
THINGS = Resource("things.example.com", "v1", "things", "Thing")
# The server remembers what it was asked before, so a failure cannot be made smaller by asking again.
fuzzing = settings(suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate])


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with running_server() as server:
        fuzzed = Fuzzed(server)
        yield fuzzed
        fuzzed.close()


@settings(fuzzing, max_examples=EXAMPLES)
@given(request=requests())
def test_every_answer_is_one_that_kubernetes_could_give(fuzzed: Fuzzed, request: Asked) -> None:
    fuzzed.check(request)


def _asked(method: str, path: str, body: Any = None, media: str = "application/json") -> Asked:
    return Asked(method, path, {"Content-Type": media}, b"" if body is None else msgspec.json.encode(body))


@settings(fuzzing, max_examples=max(EXAMPLES // 10, 1))
@given(given_one=definitions(THINGS))
def test_no_definition_of_a_kind_is_too_odd(fuzzed: Fuzzed, given_one: Definition) -> None:
    fuzzed.check(_asked("DELETE", DEFINITIONS.path("", THINGS.key)))
    fuzzed.check(_asked("POST", DEFINITIONS.path(), given_one.document))
    things, first = THINGS.path("default"), THINGS.path("default", "thing-0")
    for document in given_one.objects:
        fuzzed.check(_asked("POST", things, document))
    for form, patch in itertools.product((PatchForm.MERGE, PatchForm.APPLY), (given_one.patch, given_one.objects[0])):
        fuzzed.check(_asked("PATCH", f"{first}?fieldManager=me", patch, form))
    fuzzed.check(_asked("PATCH", f"{first}/status", {"status": given_one.patch}, PatchForm.MERGE))
    fuzzed.check(_asked("PATCH", first, [{"op": "copy", "from": "/spec", "path": "/spec/a"}], PatchForm.JSON))
    for path in (things, "/openapi/v3/apis/things.example.com/v1", "/apis/things.example.com/v1", "/apis"):
        fuzzed.check(_asked("GET", path))
    everything(fuzzed.server)


def test_all_that_was_stored_can_be_shown_even_after_a_restart(fuzzed: Fuzzed) -> None:
    before = everything(fuzzed.server)
    fuzzed.server.kill()
    fuzzed.server.start()
    fuzzed.server.wait_until_ready()
    after = everything(fuzzed.server)
    for path, objects in before.items():
        assert [one for one in objects if one not in after[path]] == []


def test_nothing_took_the_server_by_surprise(fuzzed: Fuzzed) -> None:
    fuzzed.server.check_health()
