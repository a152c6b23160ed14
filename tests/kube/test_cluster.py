"""The test cluster is a cluster: nodes and pods start and fail as elsewhere, its API refuses invalid requests."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kube.cluster import processes
from tests.kube.cluster.api import Api, ApiError, Object
from tests.kube.cluster.control_plane import SCHEDULER
from tests.kube.cluster.kwok import LEASES, SLICE, Nodes, end_pod
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import SchedulerSettings, Settings
from tests.kube.cluster.stages import LEAVES_AFTER
from tests.kube.jobs import SECONDS, pod, wait_for_phase
from understudy.client.kube_client import connect
from understudy.embedded.shim import linux
from understudy.ports import Refused

ROOT = Path(__file__).parents[2]

GROUP = "rbac.authorization.k8s.io"
PODS = "/api/v1/namespaces/default/pods"


def test_nodes_are_ready_and_have_leases_in_kubectls_eyes(kubectl: Callable[..., str], nodes: Nodes) -> None:
    assert nodes.add_slices(2, 2) == ["slice-0-0", "slice-0-1", "slice-1-0", "slice-1-1"]
    shown = kubectl("get", "nodes", "-l", f"{SLICE}=slice-1", "--no-headers")
    assert [line.split()[:2] for line in shown.splitlines()] == [["slice-1-0", "Ready"], ["slice-1-1", "Ready"]]
    assert "slice-0-1" in kubectl("get", "leases", "-n", "kube-node-lease")


def test_a_pod_of_kube_scheduler_runs_and_ends_as_told(api: Api, namespace: str, nodes: Nodes) -> None:
    nodes.add("node-1")
    for name in ("good", "bad"):
        api.create(pod(name, "default-scheduler"), namespace)
        assert wait_for_phase(api, namespace, name, "Running")["spec"]["nodeName"] == "node-1"
    end_pod(api, namespace, "good")
    end_pod(api, namespace, "bad", code=3)
    assert wait_for_phase(api, namespace, "good", "Succeeded")
    (status,) = wait_for_phase(api, namespace, "bad", "Failed")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3


def test_a_deleted_pod_takes_the_time_it_says(api: Api, namespace: str, nodes: Nodes) -> None:
    nodes.add("node-1")
    slow = pod("slow", "default-scheduler")
    slow["metadata"]["annotations"] = {LEAVES_AFTER: "1500ms"}
    api.create(slow, namespace)
    wait_for_phase(api, namespace, "slow", "Running")
    path = f"/api/v1/namespaces/{namespace}/pods/slow"
    api.delete(path)
    assert api.get(path)["metadata"]["deletionTimestamp"]
    wait_until(lambda: not api.exists(path), "the pod is gone", SECONDS)


def test_a_pod_without_a_scheduler_waits(api: Api, namespace: str, nodes: Nodes) -> None:
    nodes.add("node-1")
    api.create(pod("waiting"), namespace)
    api.create(pod("other", "default-scheduler"), namespace)
    wait_for_phase(api, namespace, "other", "Running")
    assert "nodeName" not in wait_for_phase(api, namespace, "waiting", "Pending")["spec"]


def test_rights_are_asked_for(kube: Cluster, namespace: str) -> None:
    scheduler = kube.plane.api(SCHEDULER)
    scheduler.items("/api/v1/pods")
    with pytest.raises(ApiError, match="Forbidden"):
        scheduler.items(f"/api/v1/namespaces/{namespace}/secrets")
    scheduler.close()


def test_a_service_account_may_do_what_its_role_says(kube: Cluster, namespace: str) -> None:
    role = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "reader"}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    binding = {**role, "kind": "RoleBinding", "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "reader"}}
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]
    kube.api.apply_all([{**role, "rules": rules}, {**binding, "subjects": subjects}], namespace)

    async def looked() -> None:
        async with connect(kube.account(namespace, "default")) as client:
            await client.request("GET", f"/api/v1/namespaces/{namespace}/pods")
            with pytest.raises(Refused, match="forbidden"):
                await client.request("GET", "/api/v1/pods")

    asyncio.run(looked())


def test_a_dead_node_goes_unsaid_until_its_silence_is_noticed() -> None:
    """The lease is not renewed, the pod still shows Running, and deleted pods are not removed."""
    with cluster(Settings(operators=(), grace="8s", lease_seconds=4)) as kube:
        nodes, api = kube.nodes, kube.api
        nodes.add("dead", "alive")
        for name in ("dead", "alive"):
            api.create(pod_on(name))
            wait_for_phase(api, "default", name, "Running")
        nodes.die("dead")
        wait_until(lambda: nodes.readiness("dead") == "Unknown", "the dead node is unknown", SECONDS, kube.processes)
        assert nodes.readiness("alive") == "True"
        last = api.get(f"{LEASES}/dead")["spec"]["renewTime"]
        for name in ("dead", "alive"):
            api.delete(f"{PODS}/{name}")
        wait_until(lambda: not api.exists(f"{PODS}/alive"), "the pod of the other node is gone", SECONDS)
        assert api.get(f"{PODS}/dead")["status"]["phase"] == "Running"
        assert api.get(f"{LEASES}/dead")["spec"]["renewTime"] == last

        nodes.come_back("dead")
        wait_until(lambda: nodes.readiness("dead") == "True", "the node is back", SECONDS, kube.processes)
        wait_until(lambda: not api.exists(f"{PODS}/dead"), "its pod is gone", SECONDS)


def pod_on(node: str) -> Object:
    """A pod bound to the node that takes long to end."""
    made = pod(node)
    made["spec"] |= {"nodeName": node, "tolerations": [{"operator": "Exists"}]}
    return made


def test_a_scheduler_more_takes_pods_by_its_name(kube: Cluster, namespace: str, nodes: Nodes) -> None:
    nodes.add("node-1")
    with kube.scheduler(SchedulerSettings(name="second", qps=1000, burst=1000)):
        kube.api.create(pod("one", "second"), namespace)
        wait_for_phase(kube.api, namespace, "one", "Running")


OWNER = """
import sys, time
from tests.kube.cluster.running import cluster
from tests.kube.cluster.settings import Settings
with cluster(Settings(operators=(), kwok=False, scheduler=None)) as kube:
    print(kube.plane.folder, *(process.pid for process in kube.processes), flush=True)
    time.sleep(600)
"""


def test_nothing_is_left_of_a_cluster_whose_owner_is_killed() -> None:
    """Its programs end with it, although it could not stop them; the next cluster removes its folder."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        folder, *pids = owner.stdout.readline().split()
        owner.kill()
    assert len(pids) == 3
    wait_until(lambda: all(linux.start_ticks(int(pid)) is None for pid in pids), "its programs ended", SECONDS)
    with processes.folder():
        assert not Path(folder).exists()
