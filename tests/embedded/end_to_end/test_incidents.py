"""Incidents on a cluster that really runs: written step by step, also while the scheduler is killed in mid-swap."""

import json
import os
import signal
from pathlib import Path

from tests.cli.commands import refuses, shows
from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, Setup, node, play
from understudy.embedded.clusters.process_lock import CONTROL
from understudy.objects.resources import INCIDENTS, NODES

STEPS = ("failedAt", "detectedAt", "decidedAt", "victimsOutAt", "seatedAt", "runningAt")


def running(monitor: ClusterMonitor, name: str, count: int) -> list[Document]:
    up = [one for one in monitor.pods_of(name) if one.get("status", {}).get("phase") == "Running"]
    return up if len(up) == count else []


def nodes_of(monitor: ClusterMonitor, name: str) -> set[str]:
    return {one["spec"]["nodeName"] for one in running(monitor, name, 2)}


def incident(monitor: ClusterMonitor, outcome: str, node: str) -> Document | None:
    found = [one for one in monitor.all(INCIDENTS) if one["spec"]["nodes"] == [node]]
    return next((one for one in found if one["status"]["outcome"] == outcome), None)


def steps(kept: Document) -> list[str]:
    """The moments of the steps it came to. All have microseconds, so that their texts are in order when they are."""
    return [kept["status"][step] for step in STEPS if step in kept["status"]]


def test_a_swap_and_one_in_whose_middle_the_scheduler_is_killed(tmp_path: Path) -> None:
    gate = tmp_path / "the victim may go"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(high=1000, low=1)
        assert await shows(cluster, "incidents") == ["No incidents in namespace default."]
        await cluster.create(job("train", "high", pods=2, gpus=8))
        await monitor.until("it runs", lambda: nodes_of(monitor, "train") == {"one", "two"})
        assert await shows(cluster, "incidents", "train") == ["No incidents of job train in namespace default."]

        await cluster.fail("one")
        swapped = await monitor.until("a record of the swap", lambda: incident(monitor, "swapped", "one"))
        await monitor.until("its new seat", lambda: nodes_of(monitor, "train") == {"two", "spare"})
        assert swapped["status"]["moves"][0]["source"] == "spare"
        assert steps(swapped) == sorted(steps(swapped))
        assert len(steps(swapped)) == len(STEPS) - 1  # no victim had to leave
        await monitor.until("the end of the story", lambda: monitor.told("Recovered", "Job", "train"))
        assert monitor.told("NodeLost", "Job", "train") == [swapped["spec"]["cause"]]
        await monitor.until("what the node remembers", lambda: failures(monitor, "one"))

        await cluster.recover("one")
        deaf = job(
            "victim", "low", gpus=8, program=f"trap '' TERM; until test -e '{gate}'; do sleep 0.05; done; exit 1"
        )
        deaf["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 80
        await cluster.create(deaf)
        await monitor.until("the victim runs", lambda: running(monitor, "victim", 1))
        await cluster.fail("two")
        await monitor.until("a victim that has to go", lambda: has_victims(incident(monitor, "open", "two")))
        os.kill(cluster.process(CONTROL), signal.SIGKILL)
        gate.touch()
        healed = await monitor.until("the end of the incident", lambda: incident(monitor, "swapped", "two"))
        await monitor.until("its new seat", lambda: nodes_of(monitor, "train") == {"one", "spare"})
        assert healed["status"]["victims"] == ["Job/default/victim"]
        assert steps(healed) == sorted(steps(healed))
        assert len(steps(healed)) == len(STEPS)
        assert len(monitor.all(INCIDENTS)) == 2
        await monitor.until("what the other node remembers", lambda: len(failures(monitor, "two")) == 1)
        await as_people_see_it(cluster)

    spare = node("spare", gpu="8", labels={"understudy.dev/spare": "keep"})
    setup = Setup(looks=(INCIDENTS,), expected=(r"\bcontrol\b",))
    play(tmp_path, [node("one", gpu="8"), node("two", gpu="8"), spare], scenario, setup)


def has_victims(kept: Document | None) -> bool:
    return kept is not None and bool(kept["status"]["victims"])


def failures(monitor: ClusterMonitor, name: str) -> list[str]:
    notes = (monitor.find(NODES, name) or {})["metadata"].get("annotations", {})
    return [text for text in notes.get("understudy.dev/failed-at", "").split(",") if text]


async def as_people_see_it(cluster: RealCluster) -> None:
    head, first, second, _, footer = await shows(cluster, "incidents", "job/train")
    assert head.split()[:4] == ["WHEN", "JOB", "CAUSE", "OUTCOME"]
    for line, cause, outcome in ((first, "node one lost: ", "(spare)"), (second, "node two lost: ", "(victim)")):
        assert cause in line
        assert f"swapped {outcome}" in line
    assert footer.startswith("2 incidents: median ")
    told = json.loads("\n".join(await shows(cluster, "incidents", "-A", "-o", "json")))
    assert [one["outcome"] for one in told["incidents"]] == ["swapped", "swapped"]
    assert set(STEPS) <= told["incidents"][1].keys()
    assert told["summary"]["total"]["count"] == 2
    described = await shows(cluster, "describe", "train")
    assert sum("swapped (" in line for line in described) == 2
    assert "no job trian in namespace default" in await refuses(cluster, "incidents", "trian")
