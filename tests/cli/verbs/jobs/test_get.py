"""`understudy get`: the state of one job and of each of its instances."""

import json
import re
from pathlib import Path

from tests.cli.commands import refuses, shows
from tests.cli.queries.documents import NOW, ago, conditions, event, pod, spec_of, summary
from tests.cli.queries.documents import job as job_object
from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.manifests import STAYS, job, jobset
from tests.embedded.real_cluster import RealCluster, example_nodes, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.cli.verbs.jobs.get import accelerator_lines, job_lines
from understudy.cli.views.events import events_block
from understudy.objects.resources import JOBS, MPI_JOBS_V1ALPHA1

RULE = "-----------------------------------------------------------------------------------------"


def running(monitor: ClusterMonitor, name: str, count: int = 1) -> list[Document]:
    up = [one for one in monitor.pods_of(name) if one.get("status", {}).get("phase") == "Running"]
    return up if len(up) == count else []


def without_times(lines: list[str]) -> list[str]:
    """Durations of this moment, whatever they are, as `0s`, in a column of that width."""
    return [re.sub(r"(?<= )\d+s(?= |$)", "0s", re.sub(r"  +", "  ", line)) for line in lines]


def test_a_preemption_as_its_owner_sees_it(shared: SharedClusters, tmp_path: Path) -> None:
    enough = tmp_path / "enough"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(critical=1_100_000, medium=1_000_000)
        assert (await shows(cluster, "top", "node"))[4:] == [
            "192.168.0.23  192.168.0.23  <none>  ready   1           0",
            RULE,
            "Allocated/Total GPUs In Cluster:",
            "0/1 (0%)",
        ]
        await cluster.create(job("medium", "medium", gpus=1, program=STAYS))
        [pod] = await monitor.until("medium runs", lambda: running(monitor, "medium"))
        name = pod["metadata"]["name"]
        assert without_times(await shows(cluster, "get", "medium")) == [
            "STATUS: RUNNING",
            "NAMESPACE: default",
            "PRIORITY: medium",
            "TRAINING DURATION: 0s",
            "",
            "NAME  STATUS  TRAINER  AGE  INSTANCE  NODE",
            f"medium  RUNNING  JOB  0s  {name}  192.168.0.23",
        ]
        details = await shows(cluster, "top", "node", "-d")
        assert f"default    {name}  1             1" in details
        assert details[-1] == "Allocated/Total GPUs In Cluster:  1/1 (100%)"

        await cluster.create(
            job("critical", "critical", gpus=1, program=f"until test -e {enough}; do sleep 0.05; done")
        )
        await monitor.until("critical runs", lambda: running(monitor, "critical"))
        await monitor.until("why medium waits", lambda: monitor.told("Waiting", "Job", "medium"))
        listed = without_times(await shows(cluster, "list"))
        assert listed[1:] == ["critical  RUNNING  JOB  0s  192.168.0.23", "medium  QUEUING  JOB  0s  N/A"]
        wide = [" ".join(line.split()) for line in await shows(cluster, "ls", "-o", "wide")]
        assert re.search(r"^default medium QUEUING JOB \d+s N/A medium 0s 0/0 1 0 1 made room for others", wide[2])
        why = await shows(cluster, "why", "medium")
        assert why[0].startswith("Job default/medium waits to go on")
        assert "It needs 1 pod with 1 nvidia.com/gpu." in why
        assert any("for Job/default/critical: priority 1100000 goes before 1000000." in line for line in why)
        events = await shows(cluster, "events", "medium")
        assert any(re.search(rf"Preempted +pod/{name} +Preempted by default/critical-", line) for line in events)
        with_events = await shows(cluster, "get", "medium", "-e")
        assert "Events: " in with_events
        assert any(re.search(r"^job/medium +Normal +\d+s +\[Preempted\] preempt", line) for line in with_events)

        enough.touch()
        await monitor.until("medium is back", lambda: running(monitor, "medium"))
        done = await monitor.until("critical is done", lambda: _completed(monitor, "critical"))
        assert done
        assert (await shows(cluster, "get", "critical"))[0] == "STATUS: SUCCEEDED"
        await monitor.until("the books say so", lambda: len(monitor.told("Resumed", "Job", "medium")) >= 2)
        assert any("it went on, on 192.168.0.23." in line for line in await shows(cluster, "why", "medium"))

    shared.play(example_nodes("one-gpu"), scenario)


def _completed(monitor: ClusterMonitor, name: str) -> bool:
    status = (monitor.find(JOBS, name) or {}).get("status", {})
    return any(one["type"] == "Complete" and one["status"] == "True" for one in status.get("conditions", ()))


def test_jobs_of_every_origin_in_every_form(tmp_path: Path) -> None:
    """A JobSet is one job, whatever it makes of itself; its nodes share the address of this machine."""

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(jobset("set", 2, job("any", pods=2, gpus=1)), job("lone", gpus=1), job("set-2", gpus=8))
        pods = await monitor.until("the set runs", lambda: running(monitor, "set", 4))
        await monitor.until("lone runs", lambda: running(monitor, "lone"))
        await monitor.until("why set-2 waits", lambda: monitor.told("FailedScheduling", "Pod", "set-2"))
        assert await shows(cluster, "list", "-o", "name", "-T", "jobset") == ["jobset.jobset.x-k8s.io/set"]
        listed = json.loads("\n".join(await shows(cluster, "list", "-o", "json")))["jobs"]
        assert {one["name"]: one["status"] for one in listed} == {
            "set": "RUNNING", "lone": "RUNNING", "set-2": "PENDING",
        }  # fmt: skip
        lines = await shows(cluster, "get", "set")
        names = sorted(one["metadata"]["name"] for one in pods)
        assert [line.split()[4:] for line in lines[6:]] == [
            [name, next(one["spec"]["nodeName"] for one in pods if one["metadata"]["name"] == name)] for name in names
        ]
        figures = json.loads("\n".join(await shows(cluster, "get", "jobset/set", "-o", "json")))
        assert (figures["requestGPUs"], figures["allocatedGPUs"], figures["chiefName"]) == (4, 4, names[0])
        described = await shows(cluster, "describe", "set-2")
        assert described[3] == "Status:     PENDING"
        assert any(line.startswith("  It needs 1 pod with 8 nvidia.com/gpu") for line in described)
        top = await shows(cluster, "top", "job")
        held = sorted(line.split()[:3] for line in top[1:4])
        assert held == [["lone", "1", "1"], ["set", "4", "4"], ["set-2", "8", "0"]]
        nodes = json.loads("\n".join(await shows(cluster, "top", "node", "n-1", "-o", "json")))["nodes"]
        assert [one["name"] for one in nodes] == ["n-1"]

        assert "no job st in namespace default; did you mean set" in await refuses(cluster, "get", "st")
        assert "no job set in namespace elsewhere" in await refuses(cluster, "why", "set", "-n", "elsewhere")
        await cluster.create(job("set"))
        said = await refuses(cluster, "get", "set")
        assert "set may be job.batch/set, jobset.jobset.x-k8s.io/set; say which with --type" in said
        assert (await shows(cluster, "get", "set", "-T", "jobset"))[0] == "STATUS: RUNNING"
        assert "did you mean n-1 or n-0?" in await refuses(cluster, "top", "node", "n-7")

    play(tmp_path, [node("n-0", gpu="4"), node("n-1", gpu="2")], scenario)


MPI = {"replicas": 1, "template": spec_of("Job", gpus=1, priority="medium")["template"]}
LAUNCHER = {"mpi_job_name": "medium", "mpi_role_type": "launcher"}
WORKER = {"mpi_job_name": "medium", "mpi_role_type": "worker"}


def test_an_mpi_job_that_runs() -> None:
    found = job_object(
        "MPIJob", "medium", spec=MPI, status={"launcherStatus": "Active"}, age=58, resource=MPI_JOBS_V1ALPHA1
    )
    worker = pod("medium-worker-0", node="192.168.0.23", address="192.168.0.23", age=58, gpus=1, labels=WORKER)
    launcher = pod(
        "medium-launcher-sz5xj",
        node="192.168.0.23",
        address="192.168.0.23",
        age=58,
        generate_name="medium-launcher-",
        labels=LAUNCHER,
    )
    assert job_lines(summary(found, worker, launcher), NOW) == [
        "STATUS: RUNNING",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 58s",
        "",
        "NAME    STATUS   TRAINER  AGE  INSTANCE               NODE",
        "medium  RUNNING  MPIJOB   58s  medium-launcher-sz5xj  192.168.0.23",
        "medium  RUNNING  MPIJOB   58s  medium-worker-0        192.168.0.23",
    ]


def test_an_mpi_job_that_was_preempted_and_failed() -> None:
    """Its training ended long before now; its age goes on."""
    status = {"launcherStatus": "Failed", "startTime": ago(1200), "completionTime": ago(1200 - 720)}
    found = job_object("MPIJob", "medium", spec=MPI, status=status, age=1200, resource=MPI_JOBS_V1ALPHA1)
    launcher = pod("medium-launcher-sz5xj", "Failed", "192.168.0.23", "192.168.0.23", age=1200, labels=LAUNCHER)
    assert job_lines(summary(found, launcher), NOW) == [
        "STATUS: FAILED",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 12m",
        "",
        "NAME    STATUS  TRAINER  AGE  INSTANCE               NODE",
        "medium  FAILED  MPIJOB   20m  medium-launcher-sz5xj  192.168.0.23",
    ]


def test_a_pytorch_job_on_nodes_that_are_named_after_their_addresses() -> None:
    spec = spec_of("PyTorchJob", gpus=4, priority="medium", workers=2)
    name = "pytorch-priority-medium"
    status = {**conditions(Created="True", Running="True"), "startTime": ago(200)}
    pods = []
    for role, index, ending in (("worker", 1, 209), ("master", 0, 208), ("worker", 0, 210)):
        labels = {
            "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/job-name": name,
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": str(index),
        }
        place, address = f"cn-huhehaote.172.16.0.{ending}", f"172.16.0.{ending}"
        pods.append(pod(f"{name}-{role}-{index}", "Running", place, address, age=200, gpus=4, labels=labels))
    shown = job_lines(summary(job_object("PyTorchJob", name, spec=spec, status=status, age=200), *pods), NOW)
    assert shown == [
        "STATUS: RUNNING",
        "NAMESPACE: default",
        "PRIORITY: medium",
        "TRAINING DURATION: 3m",
        "",
        "NAME                     STATUS   TRAINER     AGE  INSTANCE                          NODE",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-master-0  172.16.0.208",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-worker-0  172.16.0.210",
        "pytorch-priority-medium  RUNNING  PYTORCHJOB  3m   pytorch-priority-medium-worker-1  172.16.0.209",
    ]


def test_missing_values_are_not_available() -> None:
    shown = job_lines(summary(job_object("Job"), pod("train-abcde", "Pending", node="")), NOW)
    assert shown[2:4] == ["PRIORITY: N/A", "TRAINING DURATION: 0s"]
    assert shown[-1] == "train  PENDING  JOB      1m   train-abcde  N/A"
    for wide in (False, True):
        assert (
            job_lines(summary(job_object("Job")), NOW, wide=wide)[-1] == "train  PENDING  JOB      1m   N/A       N/A"
        )


def test_the_wide_form_tells_why_and_how_it_ended() -> None:
    found = summary(job_object("Job"), pod("train-abcde", "Pending", node="", waits="needs 1 GPU", gpus=2))
    shown = job_lines(found, NOW, wide=True)
    assert shown[4] == "REASON: needs 1 GPU"
    ended = summary(
        job_object("Job", status=conditions(Failed="True")), pod("train-abcde", "Failed", exit_code=137, gpus=2)
    )
    shown = job_lines(ended, NOW, wide=True)
    assert " ".join(shown[-1].split()) == "train FAILED JOB 1m train-abcde node-a N/A Error 55s 0 137 N/A 2 0"


def test_the_gpus_of_every_instance() -> None:
    found = summary(
        job_object("Job", spec=spec_of("Job", gpus=2, workers=2)), pod("a", gpus=2), pod("b", "Failed", gpus=2)
    )
    assert accelerator_lines(found) == [
        "",
        "GPUs:",
        "INSTANCE  NODE    GPU(Requested)  GPU(Allocated)  RESOURCES",
        "a         node-a  2               2               2 nvidia.com/gpu",
        "b         node-a  2               0               2 nvidia.com/gpu",
        "",
        "Allocated/Requested GPUs of Job: 2/4",
    ]


def test_events_stand_together_by_what_they_are_about() -> None:
    events = [
        event("Pod/a", "Scheduled", "Successfully assigned default/a to n", age=9),
        event("Job/train", "SuccessfulCreate", "Created pod: a", age=9),
        event("Pod/a", "Started", "Started container main", age=8),
    ]
    assert events_block(events, NOW) == [
        "",
        "Events: ",
        "SOURCE     TYPE    AGE  MESSAGE",
        "--------   ----    ---  -------",
        "pod/a      Normal  9s   [Scheduled] Successfully assigned default/a to n",
        "pod/a      Normal  8s   [Started] Started container main",
        "",
        "job/train  Normal  9s   [SuccessfulCreate] Created pod: a",
        "",
    ]
    assert events_block([], NOW) == ["", "Events: ", "No events for this job"]
