"""`understudy suspend` and `resume` on a cluster that really runs."""

from tests.cli.commands import refuses, shows, typed
from tests.embedded.manifests import STAYS, job, jobset, pod_spec
from tests.embedded.real_cluster import RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.embedded.clusters import pod_processes
from understudy.kinds.annotations import REQUEUED_AT
from understudy.objects.resources import JOBS

NODES = [node("a", gpu="4")]


def notes(cluster: RealCluster, name: str) -> dict[str, str]:
    found = cluster.monitor.find(JOBS, name) or {"metadata": {}}
    return dict(found["metadata"].get("annotations") or {})


def runs(cluster: RealCluster, name: str, count: int = 1) -> bool:
    found = cluster.monitor.pods_of(name)
    return [pod.get("status", {}).get("phase") for pod in found] == ["Running"] * count


def test_jobs_pause_and_go_on_as_their_owner_says(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(jobset("pair", 2, job("template", gpus=1)), job("done", program="exit 0"))
        await cluster.monitor.until("it runs", lambda: runs(cluster, "pair", 2))
        title = "jobset.jobset.x-k8s.io/pair"
        assert await shows(cluster, "suspend", "pair", "--wait") == [f"{title} suspended"]
        assert list(pod_processes.running_containers(cluster.folder)) == []
        assert await shows(cluster, "suspend", "pair") == [f"{title} is suspended already"]
        assert await shows(cluster, "resume", "pair", "--wait") == [f"{title} resumed"]
        assert len(list(pod_processes.running_containers(cluster.folder))) == 2
        assert await shows(cluster, "resume", "pair") == [f"{title} is not suspended"]
        assert await shows(cluster, "resume", "done") == ["job.batch/done is not suspended: it has finished"]
        assert "job.batch/done has finished" in await refuses(cluster, "suspend", "done")

    shared.play(NODES, scenario)


def test_kinds_of_the_training_operator_pause_and_the_first_mpijob_cannot(shared: SharedClusters) -> None:
    template = {"spec": pod_spec("", 0, STAYS)}
    template["spec"]["containers"][0]["name"] = "pytorch"
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 1, "template": template}}
    torch = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "torch"}}
    first = {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": "first"}}

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create({**torch, "spec": {"pytorchReplicaSpecs": roles}})
        await cluster.create({**first, "spec": {"replicas": 1, "template": {"spec": pod_spec("", 0, STAYS)}}})
        await cluster.monitor.until("it runs", lambda: runs(cluster, "torch", 2))
        refusal = await refuses(cluster, "suspend", "torch", "first")
        assert "mpijob.kubeflow.org/first cannot be suspended" in refusal
        assert runs(cluster, "torch", 2), "the other one was not touched either"
        title = "pytorchjob.kubeflow.org/torch"
        assert await shows(cluster, "suspend", "torch", "--wait") == [f"{title} suspended"]
        assert await shows(cluster, "resume", "torch", "--wait") == [f"{title} resumed"]
        deleted = ["mpijob.kubeflow.org/first deleted", f"{title} deleted"]
        assert await shows(cluster, "delete", "first", "torch") == deleted
        assert list(pod_processes.running_containers(cluster.folder)) == []

    shared.play(NODES, scenario)


def test_a_preempted_job_that_is_suspended_stays_so_when_there_is_room_again(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=100)
        await cluster.create(job("modest", "low", gpus=4))
        await monitor.until("modest runs", lambda: runs(cluster, "modest"))
        await cluster.create(job("hero", "high", gpus=4, program=STAYS))
        await monitor.until("hero runs", lambda: runs(cluster, "hero"))
        await monitor.until("modest queues", lambda: REQUEUED_AT in notes(cluster, "modest"))
        waits = "job.batch/modest is not suspended: it was preempted, and comes back by itself when there is room"
        assert await shows(cluster, "resume", "modest") == [waits]
        stays = "job.batch/modest suspended; it was preempted, and will not come back by itself any more"
        assert await shows(cluster, "suspend", "modest") == [stays]

        assert await shows(cluster, "delete", "hero") == ["job.batch/hero deleted"]
        await cluster.create(job("monitor", "high", gpus=4, program="exit 0"))
        await monitor.until("the seats were free", lambda: ended(cluster, "monitor"))
        assert not monitor.pods_of("modest")
        assert await shows(cluster, "resume", "modest", "--wait") == ["job.batch/modest resumed"]
        await monitor.until("modest runs again", lambda: runs(cluster, "modest"))

    shared.play(NODES, scenario)


def test_waiting_for_a_job_that_has_no_room_ends(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        body = job("large", gpus=8)
        await cluster.create({**body, "spec": {**body["spec"], "suspend": True}})
        said = await typed(cluster, "resume", "large", "--wait", "--timeout", "500ms")
        assert (said.code, said.out) == (1, "job.batch/large resumed\n")
        assert "to run; `understudy why large` tells why" in said.err
        assert await shows(cluster, "suspend", "large", "--wait") == ["job.batch/large suspended"]

    shared.play(NODES, scenario)


def ended(cluster: RealCluster, name: str) -> bool:
    found = cluster.monitor.find(JOBS, name) or {}
    return any(one["type"] == "Complete" for one in found.get("status", {}).get("conditions", []))
