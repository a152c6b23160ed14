"""What people see of their jobs: before, during and after a preemption, and when they mistype."""

import json
import re
from pathlib import Path

from tests.cli.commands import refuses, shows
from tests.embedded.manifests import STAYS, job, jobset
from tests.embedded.real_cluster import RealCluster, example_nodes, node, play
from tests.embedded.witness import Document, Witness
from understudy.objects.resources import JOBS

RULE = "-----------------------------------------------------------------------------------------"


def running(witness: Witness, name: str, count: int = 1) -> list[Document]:
    up = [one for one in witness.pods_of(name) if one.get("status", {}).get("phase") == "Running"]
    return up if len(up) == count else []


def without_times(lines: list[str]) -> list[str]:
    """Durations of this moment, whatever they are, as `0s`, in a column of that width."""
    return [re.sub(r"(?<= )\d+s(?= |$)", "0s", re.sub(r"  +", "  ", line)) for line in lines]


def test_a_preemption_as_its_owner_sees_it(tmp_path: Path) -> None:
    enough = tmp_path / "enough"

    async def scene(cluster: RealCluster) -> None:
        witness = cluster.witness
        await cluster.priorities(critical=1_100_000, medium=1_000_000)
        assert (await shows(cluster, "top", "node"))[4:] == [
            "192.168.0.23  192.168.0.23  <none>  ready   1           0",
            RULE,
            "Allocated/Total GPUs In Cluster:",
            "0/1 (0%)",
        ]
        await cluster.create(job("medium", "medium", gpus=1, program=STAYS))
        [pod] = await witness.until("medium runs", lambda: running(witness, "medium"))
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
        await witness.until("critical runs", lambda: running(witness, "critical"))
        await witness.until("why medium waits", lambda: witness.told("Waiting", "Job", "medium"))
        listed = without_times(await shows(cluster, "list"))
        assert listed[1:] == ["critical  RUNNING  JOB  0s  192.168.0.23", "medium  QUEUING  JOB  0s  N/A"]
        wide = [" ".join(line.split()) for line in await shows(cluster, "ls", "-o", "wide")]
        assert re.search(r"^default medium QUEUING JOB \d+s N/A medium 0s 0/0 1 0 1 made room for others", wide[2])
        why = await shows(cluster, "why", "medium")
        assert why[0].startswith("Job default/medium waits to go on")
        assert "It needs 1 x 1 nvidia.com/gpu." in why
        assert any("for Job/default/critical: priority 1100000 goes before 1000000." in line for line in why)
        events = await shows(cluster, "events", "medium")
        assert any(re.search(rf"Preempted +pod/{name} +Preempted by default/critical-", line) for line in events)
        with_events = await shows(cluster, "get", "medium", "-e")
        assert "Events: " in with_events
        assert any(re.search(r"^job/medium +Normal +\d+s +\[Preempted\] preempt", line) for line in with_events)

        enough.touch()
        await witness.until("medium is back", lambda: running(witness, "medium"))
        done = await witness.until("critical is done", lambda: _completed(witness, "critical"))
        assert done
        assert (await shows(cluster, "get", "critical"))[0] == "STATUS: SUCCEEDED"
        await witness.until("the books say so", lambda: len(witness.told("Resumed", "Job", "medium")) >= 2)
        assert any("it went on, on 192.168.0.23." in line for line in await shows(cluster, "why", "medium"))

    play(tmp_path, example_nodes("one-gpu"), scene)


def _completed(witness: Witness, name: str) -> bool:
    status = (witness.find(JOBS, name) or {}).get("status", {})
    return any(one["type"] == "Complete" and one["status"] == "True" for one in status.get("conditions", ()))


def test_jobs_of_every_origin_in_every_form(tmp_path: Path) -> None:
    """A JobSet is one job, whatever it makes of itself; its nodes share the address of this machine."""

    async def scene(cluster: RealCluster) -> None:
        witness = cluster.witness
        await cluster.create(jobset("set", 2, job("any", pods=2, gpus=1)), job("lone", gpus=1), job("set-2", gpus=8))
        pods = await witness.until("the set runs", lambda: running(witness, "set", 4))
        await witness.until("lone runs", lambda: running(witness, "lone"))
        await witness.until("why set-2 waits", lambda: witness.told("FailedScheduling", "Pod", "set-2"))
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
        assert any(line.startswith("  It needs 1 x 8 nvidia.com/gpu") for line in described)
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

    play(tmp_path, [node("n-0", gpu="4"), node("n-1", gpu="2")], scene)
