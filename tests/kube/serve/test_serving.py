"""Two replicas of `understudy serve`: one leads, and the other takes over when it ends."""

from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.jobs import SECONDS, pod, wait_for_phase
from tests.kube.serve.serve_process import serve


def test_when_the_leader_is_killed_the_other_one_seats(kube: Cluster, namespace: str, nodes: Nodes) -> None:
    nodes.add("node-1")
    with serve(kube, "first") as first, serve(kube, "second", wait=False) as second:
        wait_until(lambda: second.asked("/readyz") == "standing by\n", "the other one stands by", SECONDS, [second])
        kube.api.create(pod("one"), namespace)
        wait_for_phase(kube.api, namespace, "one", "Running")
        assert (first.figure("understudy_pods_bound_total"), second.figure("understudy_pods_bound_total")) == (1, 0)
        first.kill()
        kube.api.create(pod("two"), namespace)
        wait_for_phase(kube.api, namespace, "two", "Running")
        assert second.leads
