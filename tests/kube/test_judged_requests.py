"""The recorded answers of Kubernetes that the embedded server is tested with are those of a real kube-apiserver."""

import pytest

from tests.embedded.server.conformance_requests import JUDGED, Judged
from tests.kube.cluster.api import Api, ApiError


@pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED)
def test_a_kube_apiserver_gives_this_answer(api: Api, namespace: str, judged: Judged) -> None:
    root = f"/api/v1/namespaces/{namespace}"
    for path, body in judged.before:
        api.request("POST", f"{root}{path}", body)
    try:
        api.request("POST", f"{root}{judged.asked.path}", judged.asked.body)
        code, message = 201, ""
    except ApiError as error:
        code, message = error.status, error.message
    assert (code, message) == (judged.code, message)
    assert judged.words in message
