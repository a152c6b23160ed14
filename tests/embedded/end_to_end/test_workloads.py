"""Workloads that run on, with real processes: updated without a gap, in order, and by the clock."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.real_cluster import RealCluster, Setup, node, play
from tests.eventually import eventually_async
from understudy.objects.resources import CRON_JOBS, DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS

NODES = [node("a"), node("b")]
STAYS = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


def workload(kind: str, name: str, program: str = STAYS, **spec: Any) -> Document:
    labels = {"app": name}
    pod = {
        "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "main", "image": "sh", "command": ["sh", "-c", program]}],
    }
    given = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": given}


def pods(monitor: ClusterMonitor, name: str) -> list[Document]:
    return [pod for pod in monitor.all(PODS) if pod["metadata"].get("labels", {}).get("app") == name]


def is_ready(pod: Document) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def ready(monitor: ClusterMonitor, name: str, version: str = "") -> list[Document]:
    """The ready pods of a workload, of this version where one is given."""
    found = [pod for pod in pods(monitor, name) if is_ready(pod)]
    return [pod for pod in found if pod["metadata"].get("annotations", {}).get("version", "") == version]


def never_fewer(monitor: ClusterMonitor, name: str, count: int) -> Callable[[], Iterator[str]]:
    def look() -> Iterator[str]:
        found = sum(map(is_ready, pods(monitor, name)))
        if found < count:
            yield f"{name} has {found} ready pods instead of {count}"

    return look


def to_version(version: str) -> Document:
    return {"spec": {"template": {"metadata": {"annotations": {"version": version}}}}}


def test_a_rolling_update_leaves_no_moment_with_too_few_pods(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        await cluster.create(workload("Deployment", "web", replicas=3, strategy=rolling))
        await monitor.until("three pods are ready", lambda: len(ready(monitor, "web")) == 3)
        monitor.more_rules.append(never_fewer(monitor, "web", 3))
        await cluster.patch(DEPLOYMENTS, "web", to_version("2"))
        await monitor.until("three new pods are ready", lambda: len(ready(monitor, "web", "2")) == 3)
        await monitor.until("the old ones are gone", lambda: len(pods(monitor, "web")) == 3)
        status = (monitor.find(DEPLOYMENTS, "web") or {})["status"]
        assert status["updatedReplicas"] == 3

    play(tmp_path, NODES, scenario, Setup(looks=(DEPLOYMENTS,)))


def test_a_pod_that_loses_its_node_is_made_again_elsewhere(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(workload("Deployment", "web", replicas=2))
        first = await monitor.until("two pods are ready", lambda: _both(monitor))
        lost = first[0]["spec"]["nodeName"]
        await cluster.fail(lost)

        def moved() -> bool:
            return len([pod for pod in ready(monitor, "web") if pod["spec"]["nodeName"] != lost]) == 2

        await monitor.until("both run on the other node", moved)

    play(tmp_path, NODES, scenario, Setup(looks=(DEPLOYMENTS,)))


def _both(monitor: ClusterMonitor) -> list[Document]:
    found = ready(monitor, "web")
    return found if len(found) == 2 else []


def test_a_stateful_set_starts_in_order_keeps_its_files_and_is_updated_from_the_end(tmp_path: Path) -> None:
    order = tmp_path / "order"
    (tmp_path / "data").mkdir()  # the mount point
    program = 'seen=$(cat "$DATA"/seen 2>/dev/null); echo "$HOSTNAME" > "$DATA"/seen; '
    program += f'echo "$HOSTNAME $seen" >> {order}; {STAYS}'

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
        }
        made = workload("StatefulSet", "db", program, replicas=2, serviceName="db", volumeClaimTemplates=[claim])
        container = made["spec"]["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "data", "mountPath": str(tmp_path / "data")}]
        container["env"] = [
            {"name": "HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "DATA", "value": str(tmp_path / "data")},
        ]
        await cluster.create(made)
        await monitor.until("both pods are ready", lambda: len(ready(monitor, "db")) == 2)
        await eventually_async(lambda: order.read_text().split(), until=lambda names: names == ["db-0", "db-1"])
        await cluster.patch(STATEFUL_SETS, "db", to_version("2"))
        await monitor.until("both are new", lambda: len(ready(monitor, "db", "2")) == 2)
        updated = ["db-1 db-1", "db-0 db-0"]  # pods are ready when their processes run, which may be before they write
        await eventually_async(lambda: order.read_text().splitlines()[2:], until=lambda lines: lines == updated)

    play(tmp_path, NODES, scenario, Setup(looks=(STATEFUL_SETS,)))


def test_a_cron_job_makes_up_for_the_last_time_it_missed(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        container = {"name": "main", "image": "sh", "command": ["sh", "-c", "true"]}
        template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
        spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": template}
        await cluster.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": spec})
        missed = (datetime.now(UTC) - timedelta(minutes=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
        await cluster.patch(CRON_JOBS, "tick", {"status": {"lastScheduleTime": missed}}, sub="status")
        await cluster.patch(CRON_JOBS, "tick", {"spec": {"suspend": False}})

        def succeeded() -> bool:
            return any(job.get("status", {}).get("succeeded") == 1 for job in monitor.all(JOBS))

        await monitor.until("its job has run", succeeded)
        await monitor.until("it is on record", lambda: "lastSuccessfulTime" in _status(monitor))
        await monitor.until("it is told", lambda: monitor.told("SawCompletedJob", "CronJob", "tick"))
        await cluster.patch(CRON_JOBS, "tick", {"spec": {"suspend": True}})

    play(tmp_path, NODES, scenario, Setup(looks=(CRON_JOBS,)))


def _status(monitor: ClusterMonitor) -> Document:
    status: Document = (monitor.find(CRON_JOBS, "tick") or {}).get("status", {})
    return status
