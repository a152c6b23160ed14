"""Workloads on a cluster: their controllers work hand in hand through the API."""

from typing import Any

from tests.embedded.controllers.controller_runner import (
    housekeeping,
    job_kind_controller,
    run_scenario,
    running_controllers,
)
from tests.embedded.controllers.fake_cluster import FakeCluster, moment, quiet
from tests.objects.documents import Document, metadata, node, pod_spec, template
from understudy.objects.resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)

DEPLOYMENT = (job_kind_controller("Deployment"), job_kind_controller("ReplicaSet"))
LABELS = {"app": "web"}


def workload(kind: str, **spec: Any) -> Document:
    given = {"selector": {"matchLabels": LABELS}, "template": template(labels=LABELS), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata("web", generation=1), "spec": given}


async def start(api: FakeCluster) -> None:
    """Every pod becomes ready."""
    for name in api.names(PODS):
        now = moment(api.clock.now())
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        api.change(PODS, name, {"status": {"phase": "Running", "conditions": [ready]}})
    await api.clock.advance(1)


def images(api: FakeCluster) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in api.all(PODS)}


def test_a_deployment_becomes_pods_and_rolls_to_a_new_template() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *DEPLOYMENT):
            api.put(DEPLOYMENTS, workload("Deployment", replicas=4))
            await api.clock.advance(1)
            assert len(api.names(PODS)) == 4
            await start(api)
            assert api.read(DEPLOYMENTS, "web")["status"]["availableReplicas"] == 4
            api.change(DEPLOYMENTS, "web", {"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}})
            for _ in range(8):
                await start(api)
            assert len(api.names(PODS)) == 4
            assert all(pod["metadata"]["annotations"] == {"restarted": "now"} for pod in api.all(PODS))
            sizes = sorted(one["spec"]["replicas"] for one in api.all(REPLICA_SETS))
            assert sizes == [0, 4]

    run_scenario(scenario)


def test_controllers_that_restart_go_on_with_a_rollout_and_make_no_pod_twice() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(DEPLOYMENTS, workload("Deployment", replicas=3))
        for _ in range(6):
            async with running_controllers(api, *DEPLOYMENT):
                await quiet(5)
        async with running_controllers(api, *DEPLOYMENT):
            await api.clock.advance(2)
        assert len(api.names(REPLICA_SETS)) == 1
        assert len(api.names(PODS)) == 3

    run_scenario(scenario)


def test_a_deleted_deployment_takes_its_replica_sets_and_pods_along() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, *DEPLOYMENT, *housekeeping()):
            api.put(DEPLOYMENTS, workload("Deployment", replicas=2))
            await api.clock.advance(1)
            api.remove(DEPLOYMENTS, "web")
            await api.clock.advance(5)
            assert api.names(REPLICA_SETS) == []
            assert all("deletionTimestamp" in pod["metadata"] for pod in api.all(PODS))

    run_scenario(scenario)


def test_a_stateful_set_finds_claims_that_exist_already() -> None:
    async def scenario(api: FakeCluster) -> None:
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
        async with running_controllers(api, job_kind_controller("StatefulSet")):
            api.put(STATEFUL_SETS, workload("StatefulSet", replicas=2, volumeClaimTemplates=[claim]))
            await api.clock.advance(1)
            assert api.names(PODS) == ["web-0"]
            api.remove(PODS, "web-0")
            await api.clock.advance(1)
            await start(api)
            assert api.names(PODS) == ["web-0", "web-1"]

    run_scenario(scenario)


def test_daemons_follow_the_nodes() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, job_kind_controller("DaemonSet")):
            api.put(NODES, node("a"))
            api.put(DAEMON_SETS, workload("DaemonSet"))
            await api.clock.advance(1)
            assert len(api.names(PODS)) == 1
            api.put(NODES, node("b"))
            await api.clock.advance(1)
            assert len(api.names(PODS)) == 2

    run_scenario(scenario)


def test_a_cron_job_wakes_at_its_times() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, job_kind_controller("CronJob")):
            job = {"spec": {"template": {"spec": pod_spec()}}}
            meta = metadata("tick", creationTimestamp=moment(api.clock.now()))
            spec = {"schedule": "* * * * *", "jobTemplate": job}
            api.put(CRON_JOBS, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec})
            await api.clock.advance(185)
            assert len(api.names(JOBS)) == 3

    run_scenario(scenario)
