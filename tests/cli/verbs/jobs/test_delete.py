"""`understudy delete` and `prune` on a cluster that really runs."""

import msgspec

from tests.cli.commands import refuses, shows, typed
from tests.embedded.manifests import STAYS, job, jobset
from tests.embedded.real_cluster import RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.embedded.clusters import pod_processes
from understudy.objects.resources import CONFIG_MAPS, JOBS, PODS
from understudy.ports import Ref

NODES = [node(name, gpu="4") for name in ("a", "b")]
STUBBORN = "trap '' TERM; sleep 1000000 & wait; wait"


async def running(cluster: RealCluster, *jobs: str) -> None:
    def all_run() -> bool:
        phases = [pod.get("status", {}).get("phase") for name in jobs for pod in cluster.monitor.pods_of(name)]
        return len(phases) >= len(jobs) and set(phases) == {"Running"}

    await cluster.monitor.until(f"{jobs} run", all_run)


async def names(cluster: RealCluster) -> set[str]:
    return set(await shows(cluster, "list", "-o", "name"))


def test_jobs_of_any_kind_go_with_their_pods_and_what_belongs_to_them(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("first"), jobset("second", 2, job("template")), job("third"))
        await running(cluster, "first", "second", "third")
        first = msgspec.json.decode(await cluster.client.get(Ref(JOBS, "default", "first")))["metadata"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "first", "uid": first["uid"]}
        made_beside = {"name": "first-code", "ownerReferences": [owner]}
        await cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": made_beside})

        assert "did you mean first?" in await refuses(cluster, "delete", "second", "frist")
        assert "name the jobs to delete, or give --all" in await refuses(cluster, "delete")
        assert "--all takes no names" in await refuses(cluster, "del", "--all", "first")
        assert "second-job-0 is a part of jobset second" in await refuses(cluster, "delete", "second-job-0")
        assert len(list(pod_processes.running_containers(cluster.folder))) == 4, (
            "a command that is wrong deletes nothing"
        )

        deleted = ["job.batch/first deleted", "jobset.jobset.x-k8s.io/second deleted"]
        assert await shows(cluster, "delete", "first", "second") == deleted
        assert len(list(pod_processes.running_containers(cluster.folder))) == 1, "it waits until the processes are gone"
        await cluster.monitor.until("its code is gone", lambda: cluster.monitor.find(CONFIG_MAPS, "first-code") is None)
        assert await shows(cluster, "delete", "--all", "-T", "jobset") == ["No job in namespace default"]
        assert await shows(cluster, "delete", "--all") == ["job.batch/third deleted"]
        assert await names(cluster) == set()

    shared.play(NODES, scenario)


def test_waiting_ends_when_time_is_up(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("deaf", program=STUBBORN), job("other"))
        await running(cluster, "deaf", "other")
        [pod] = cluster.monitor.pods_of("deaf")
        assert await shows(cluster, "delete", "other", "--wait=false") == ["job.batch/other deleted"]
        said = await typed(cluster, "delete", "deaf", "--timeout", "300ms")
        name = f"default/{pod['metadata']['name']}"
        assert (said.code, said.out) == (1, "job.batch/deaf deleted\n")
        assert said.err == f"understudy: waited 0.3 s for pods {name} to be gone\n"
        await cluster.client.delete(Ref(PODS, "default", pod["metadata"]["name"]), grace=0)
        await cluster.monitor.until("it is gone", lambda: not cluster.monitor.pods_of("deaf"))

    shared.play(NODES, scenario)


def test_only_jobs_that_ended_long_enough_ago_are_pruned(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("good", program="exit 0"), job("bad", program="exit 1"), job("runs", program=STAYS))
        await cluster.create({**job("paused"), "spec": {**job("paused")["spec"], "suspend": True}})
        monitor = cluster.monitor
        await monitor.until("both have ended", lambda: ended(cluster, "good") and ended(cluster, "bad"))
        assert "--since 10: not a length of time" in await refuses(cluster, "prune", "--since", "10")
        assert await shows(cluster, "prune", "--since", "10h") == ["No job need to be deleted"]
        shown = await shows(cluster, "prune", "--since", "0", "--dry-run", "-A")
        assert [line.rpartition(" with Age ")[0] for line in shown] == ["Would delete job bad", "Would delete job good"]
        assert all(line.endswith(" in namespace default") for line in shown)
        assert len(await names(cluster)) == 4
        pruned = await shows(cluster, "prune", "--since", "0")
        assert [line.rpartition(" with Age ")[0] for line in pruned] == ["Delete job bad", "Delete job good"]
        assert await names(cluster) == {"job.batch/runs", "job.batch/paused"}

    shared.play(NODES, scenario)


def ended(cluster: RealCluster, name: str) -> bool:
    job = cluster.monitor.find(JOBS, name) or {}
    conditions = job.get("status", {}).get("conditions", [])
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)
