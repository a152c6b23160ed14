"""A node falls silent, its pod is force-deleted, and the node comes back: nothing is bound there before its time.

On a real control plane, with a scheduler that is killed between the deletion and the return.
"""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.cluster import programs
from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
from tests.kube.serve.gangs import job, make_priorities
from tests.kube.serve.serve_process import SHORT_TERMS, Replica, serve
from understudy.kinds.annotations import FENCED, read_fence
from understudy.kinds.decoding import decode
from understudy.model.nodes import Fence

SECONDS = 90.0
GRACE = 2
FOR_EVER = 600.0  # seconds: longer than any test waits
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
RENEWALS = 4  # of the lease of a node that is back, in which it would get a pod within a moment if it could


@pytest.fixture(scope="module")
def small() -> Iterator[Cluster]:
    if not programs.at_hand():
        pytest.skip(programs.HOW_TO)
    with cluster(Settings(operators=(), scheduler=None, grace="8s", lease_seconds=4)) as kube:
        make_priorities(kube.api)
        kube.nodes.add("a")
        kube.nodes.add("other", resources={"cpu": "8", "memory": "8Gi", "pods": "110"})
        yield kube


def scheduler(kube: Cluster, margin: float) -> Any:
    return serve(kube, settings={**SHORT_TERMS, "health": {"returnMargin": margin}})


def pods(api: Api) -> list[Object]:
    return [pod for pod in api.items("/api/v1/namespaces/default/pods") if "deletionTimestamp" not in pod["metadata"]]


def seated(api: Api) -> list[Object]:
    return [pod for pod in pods(api) if pod["spec"].get("nodeName")]


def fence(kube: Cluster) -> Fence | None:
    node = decode({**kube.nodes.get("a"), "apiVersion": "v1", "kind": "Node"})
    return read_fence(node.metadata.annotations, node)


def begin(kube: Cluster, name: str) -> None:
    made = job(name, 1)
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = GRACE
    kube.api.create(made, "default")
    wait_until(lambda: seated(kube.api), "it is seated", SECONDS, kube.processes)


def fall_silent(kube: Cluster) -> None:
    """Until the pod there has been force-deleted."""
    kube.nodes.die("a")
    # The cluster itself may tell the pod to go first; it is force-deleted by Understudy.
    wait_until(lambda: not seated(kube.api) and fence(kube), "its pod is gone", SECONDS, kube.processes)
    found = fence(kube)
    assert found is not None, "the node says so"
    assert (found.grace, found.boot, found.returned) == (
        GRACE,
        kube.nodes.get("a")["status"]["nodeInfo"]["bootID"],
        None,
    )


def end(kube: Cluster, name: str) -> None:
    kube.api.request("DELETE", f"/apis/batch/v1/namespaces/default/jobs/{name}", {"propagationPolicy": "Background"})
    wait_until(lambda: not pods(kube.api), "nothing is left", SECONDS, kube.processes)


def came_back(kube: Cluster) -> float:
    """The time from which the node may be used, by its annotation."""
    wait_until(lambda: (found := fence(kube)) and found.returned, "its return is noted", SECONDS, kube.processes)
    found = fence(kube)
    assert found is not None
    assert found.returned is not None
    return found.returned


def renewed(kube: Cluster, times: int) -> None:
    seen: set[str] = set()

    def often_enough() -> bool:
        seen.add(kube.api.get(f"{LEASES}/a")["spec"]["renewTime"])
        return len(seen) > times

    wait_until(often_enough, f"its lease is renewed {times} times", SECONDS, kube.processes)


def test_it_is_held_back_by_the_next_scheduler_too_until_a_boot_proves_that_nothing_is_left(small: Cluster) -> None:
    first: Replica
    with scheduler(small, FOR_EVER) as first:
        begin(small, "hero")
        fall_silent(small)
        first.kill()
    with scheduler(small, FOR_EVER):
        small.nodes.come_back("a")
        came_back(small)
        renewed(small, RENEWALS)
        assert not seated(small.api), "pods that were force-deleted may still run there"
        small.nodes.reboot("a")
        wait_until(lambda: seated(small.api), "it is seated again", SECONDS, small.processes)
        wait_until(lambda: FENCED not in small.nodes.get("a")["metadata"]["annotations"], "no fence is left", SECONDS)
        end(small, "hero")


def test_it_is_given_away_when_grace_and_margin_have_passed_since_its_return(small: Cluster) -> None:
    margin = 4.0
    with scheduler(small, margin):
        begin(small, "late")
        fall_silent(small)
        small.nodes.come_back("a")
        returned = came_back(small)
        wait_until(lambda: seated(small.api), "it is seated again", SECONDS, small.processes)
        [pod] = seated(small.api)
        [bound] = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
        bound_at = datetime.datetime.fromisoformat(bound["lastTransitionTime"]).timestamp()
        assert bound_at + 1 > returned + GRACE + margin  # it is told in whole seconds
        end(small, "late")
