"""What pods ask for, as Kubernetes counts it."""

import pytest

from tests.objects.documents import Document, container, pod
from understudy.kinds.decoding import decode
from understudy.objects.pods import Pod
from understudy.objects.resource_requests import requests_of


def always(requests: Document) -> Document:
    return container(requests, restartPolicy="Always")


def limited(requests: Document, limits: Document) -> Document:
    return container(resources={"requests": requests, "limits": limits})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container()]}, {}),
        (
            {"containers": [container({"cpu": "1"}), container({"cpu": "500m", "memory": "1Gi"})]},
            {"cpu": 1500, "memory": 2**30},
        ),
        ({"containers": [limited({}, {"cpu": "2"})]}, {"cpu": 2000}),
        (
            {"containers": [limited({"cpu": "1"}, {"cpu": "2", "nvidia.com/gpu": 4})]},
            {"cpu": 1000, "nvidia.com/gpu": 4},
        ),
        ({"containers": [container({"cpu": "0", "nvidia.com/gpu": "0"})]}, {}),
        # init containers run one at a time, before the others
        ({"containers": [container({"cpu": "1"})], "initContainers": [container({"cpu": "3"})]}, {"cpu": 3000}),
        ({"containers": [container({"cpu": "4"})], "initContainers": [container({"cpu": "3"})]}, {"cpu": 4000}),
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "2"}), container({"memory": "5"})],
            },
            {"cpu": 2000, "memory": 5},
        ),
        # sidecars run beside everything that starts after them
        ({"containers": [container({"cpu": "1"})], "initContainers": [always({"cpu": "2"})]}, {"cpu": 3000}),
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [always({"cpu": "2"}), container({"cpu": "5"})],
            },
            {"cpu": 7000},
        ),
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "5"}), always({"cpu": "2"})],
            },
            {"cpu": 5000},
        ),
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [always({"cpu": "1"}), container({"cpu": "2"}), always({"cpu": "4"})],
            },
            {"cpu": 6000},
        ),
        # overhead comes on top of whichever is larger
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "2"})],
                "overhead": {"cpu": "250m", "memory": "1Mi"},
            },
            {"cpu": 2250, "memory": 2**20},
        ),
        # resources of the pod as a whole
        ({"containers": [container({"cpu": "1"})], "resources": {"requests": {"cpu": "3"}}}, {"cpu": 3000}),
        ({"containers": [container()], "resources": {"limits": {"cpu": "3"}}}, {"cpu": 3000}),
        ({"containers": [container({"cpu": "1"})], "resources": {"limits": {"cpu": "3"}}}, {"cpu": 1000}),
        (
            {
                "containers": [container({"cpu": "1", "nvidia.com/gpu": 2})],
                "resources": {"requests": {"cpu": "3"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 4000, "nvidia.com/gpu": 2},
        ),
    ],
)
def test_requests(spec: Document, expected: dict[str, int]) -> None:
    found = decode(pod("x", **spec))
    assert isinstance(found, Pod)
    assert requests_of(found.spec) == tuple(sorted({**expected, "pods": 1}.items()))
