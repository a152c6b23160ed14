"""The command line against a real cluster: what it creates, what it reads, and that a plan writes nothing."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.kube.cluster.api import Api
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.command_line import Shell
from tests.kube.jobs import SECONDS, jobset, pod, wait_for_pods
from understudy.client import connect
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.clock import SystemClock
from understudy.control.record.event_formats import EventSubject, EventText, SeriesEventFormat
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.objects.resources import LEASES


def metas(api: Api, path: str) -> list[dict[str, Any]]:
    return [item["metadata"] for item in api.items(path)]


def versions(api: Api) -> dict[str, Any]:
    """All objects that a scheduler reads, without what kubelets renew and without pods that are ending."""
    ending = {meta["name"] for meta in metas(api, "/api/v1/namespaces") if "deletionTimestamp" in meta}
    found = {}
    for source in WATCHED_RESOURCES:
        for resource in source.versions:
            path = resource.path()
            if resource not in (LEASES,) and resource.plural != "nodes" and api.exists(path):
                lasting = [meta for meta in metas(api, path) if not {meta["name"], meta.get("namespace")} & ending]
                found[path] = {(m.get("namespace"), m["name"]): m["resourceVersion"] for m in lasting}
    return found


def is_settled(api: Api, namespace: str, name: str) -> bool:
    """Whether the controllers have created everything of a JobSet whose pods no scheduler binds."""
    jobs = api.items(f"/apis/batch/v1/namespaces/{namespace}/jobs")
    status = api.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{name}").get("status", {})
    counted = [part.get("active") for part in status.get("replicatedJobsStatus", [])]
    return counted == [2] and [job["status"].get("active") for job in jobs] == [2, 2]


def test_a_plan_tells_what_would_be_done_and_does_nothing(
    shell: Shell, api: Api, nodes: Nodes, namespace: str, tmp_path: Path
) -> None:
    nodes.add("a", "b", "c", "d", resources={"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1", "pods": "110"})
    api.create(jobset("waits"), namespace)
    wait_for_pods(api, namespace, 4)
    (tmp_path / "more.json").write_text(json.dumps(pod("more")))
    wait_until(lambda: is_settled(api, namespace, "waits"), "its controllers have written down what they made", SECONDS)
    before = versions(api)
    planned = json.loads(shell.shows("plan", "--from-cluster", "-o", "json"))
    [start] = [action for action in planned["actions"] if action["gang"] == f"JobSet/{namespace}/waits"]
    assert (start["type"], sorted(node for _, node in start["seats"])) == ("Start", ["a", "b", "c", "d"])
    both = json.loads(
        shell.shows(
            "plan", "--from-cluster", "-f", str(tmp_path / "more.json"), "--what-if", "fail-node=a", "-o", "json"
        )
    )
    told = {action["gang"]: action["type"] for action in both["after"]["actions"]}
    assert told == {f"JobSet/{namespace}/waits": "Wait", f"Pod/{namespace}/more": "Start"}
    assert versions(api) == before


def test_pods_of_a_submitted_job_ask_for_understudy(shell: Shell, api: Api, namespace: str) -> None:
    shell.shows("submit", "jobset", "--name=mine", "--slices=1", "--workers=2", "--image=none", "true")
    assert {made["spec"]["schedulerName"] for made in wait_for_pods(api, namespace, 2)} == {"understudy"}
    assert "mine" in shell.shows("list")
    assert shell.shows("why", "mine").splitlines()[0].endswith("0 of 2 instances run.")
    assert shell.shows("delete", "mine") == "jobset.jobset.x-k8s.io/mine deleted\n"


def test_repeated_events_are_a_series_that_all_clients_read(
    shell: Shell, kube: Cluster, api: Api, namespace: str
) -> None:
    job = api.create(jobset("told"), namespace)
    [first, *_] = wait_for_pods(api, namespace, 4)
    about = EventSubject("v1", "Pod", namespace, first["metadata"]["name"], first["metadata"]["uid"])
    taker = EventSubject("jobset.x-k8s.io/v1alpha2", "JobSet", namespace, "told", job["metadata"]["uid"])

    async def tell() -> None:
        async with connect(kube.kubeconfig) as client:
            for _ in range(2):  # the second is another replica, or the same one after a restart
                recorder = EventRecorder(client, RecordWriter(client), SystemClock(), form=SeriesEventFormat("replica"))
                for free in range(3):
                    await recorder.write(
                        about, EventText("FailedScheduling", f"room for {free} of 4 pods", warning=True)
                    )
                await recorder.write(about, EventText("Preempted", "ü" * 2000, related=taker))

    asyncio.run(tell())
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    ours = [e for e in api.items(path) if e["reportingController"] == "understudy.dev/scheduler"]
    assert {(e["reason"], e["series"]["count"]) for e in ours} == {("FailedScheduling", 6), ("Preempted", 2)}
    assert [e["related"]["name"] for e in ours if e["reason"] == "Preempted"] == ["told"]
    lines = shell.shows("events", "told").splitlines()
    assert any("room for 0 of 4 pods (x6)" in line for line in lines), os.linesep.join(lines)


def test_what_a_real_cluster_does_not_have_is_said(shell: Shell) -> None:
    warm = shell.run("submit", "job", "--name=j", "--image=i", "--warm=1", "true")
    assert (warm.code, "only embedded clusters" in warm.err) == (2, True)
    failing = shell.run("node", "fail", "a")
    assert (failing.code, "is no embedded cluster" in failing.err) == (2, True)
    shell.shows("submit", "job", "--name=j", "--image=i", "true")
    assert shell.run("logs", "j").code == 1
