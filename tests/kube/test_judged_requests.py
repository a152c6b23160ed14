"""The recorded answers of Kubernetes that the embedded server is tested with are those of a real kube-apiserver."""

import contextlib
import json

import pytest

from tests.embedded.server.conformance_requests import JUDGED, Asked, Judged, contains, named
from tests.embedded.server.conformance_stories import STORIES
from tests.eventually import eventually
from tests.kube.cluster.api import Answer, Api

ALL = {**JUDGED, **STORIES}


@pytest.mark.parametrize("judged", ALL.values(), ids=ALL)
def test_a_kube_apiserver_gives_this_answer(api: Api, namespace: str, judged: Judged) -> None:
    with contextlib.ExitStack() as cleaning:
        for asked in judged.after:
            cleaning.callback(_answer, api, namespace, asked)
        for asked in judged.before:
            _goes_well(api, namespace, asked)
        status, text, warnings = _answer(api, namespace, judged.asked)
    answer = json.loads(text)
    message = answer["message"] if status >= 400 else ""
    assert (status, message) == (judged.code, message)
    assert named(judged.words, namespace) in message
    wanted = named(judged.answer, namespace)
    assert wanted is None or contains(answer, wanted), text
    if judged.warning is not None:
        assert bool(warnings) is bool(judged.warning), warnings
        assert named(judged.warning, namespace) in "".join(warnings)


def _answer(api: Api, namespace: str, asked: Asked) -> Answer:
    path, body, method, content_type, headers = asked.at(namespace)
    return api.answer(method, path, body, {"Content-Type": content_type, **headers})


def _goes_well(api: Api, namespace: str, asked: Asked) -> None:
    """Definitions and roles count a moment after they are stored."""

    def counts(answer: Answer) -> bool:
        return not (asked.method == "GET" and answer.status in (403, 404))

    answer = eventually(lambda: _answer(api, namespace, asked), f"{asked.path} is served", until=counts)
    assert answer.status < 300, answer.text
