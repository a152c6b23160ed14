"""`understudy plan --from-cluster`: what a living cluster would be planned to do, and that looking leaves no trace."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
import yaml

from tests.cli.commands import refuses, typed
from tests.cli.shell import NODE, POD, Shell, joined
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node, play
from understudy.cli.errors import BadInput
from understudy.cli.input.settings import Settings
from understudy.cli.plan.answer import LiveCluster, PlanOutput, PlanRequest, answer_request
from understudy.cli.queries.scheduler_state import SchedulerObjects
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.kinds.decoding import decode
from understudy.objects.resources import LEASES
from understudy.ports import Ref, Refused

OURS = "understudy"
NOW = 1_800_000_000.0
TRIES = 20


def live(text: str, namespace: str = "default", *notes: str) -> LiveCluster:
    objects = tuple(decode(document) for document in yaml.safe_load_all(text))
    return LiveCluster(SchedulerObjects(objects, NOW, notes), Settings(), namespace)


def actions(answer: PlanOutput) -> list[tuple[str, str]]:
    return [(action["type"], action["gang"]) for action in json.loads(answer.text)["actions"]]


def asked(seen: LiveCluster, *files: str) -> PlanOutput:
    return answer_request(PlanRequest(files=files, now=NOW, form="json", scheduler=OURS), seen)


def pod(name: str, gpus: int, scheduler: str, more: str = "") -> str:
    return (POD % (name, gpus)).rstrip() + f"\n  schedulerName: {scheduler}\n{more}"


def test_pods_of_other_schedulers_are_counted_and_left_alone() -> None:
    taken = pod("theirs", 6, "default-scheduler", "  nodeName: a\n")
    seen = live(joined(NODE % "a", taken, pod("waits", 4, "default-scheduler"), pod("ours", 4, OURS)))
    assert actions(asked(seen)) == [("Wait", "Pod/default/ours")]


def test_a_file_is_what_if_i_submitted_it(shell: Shell) -> None:
    shell.write(job=pod("new", 4, OURS), other=pod("other", 4, "default-scheduler"))
    answer = asked(live(NODE % "a", "team"), "job.yaml", "other.yaml")
    assert actions(answer) == [("Start", "Pod/team/new")]
    [note] = answer.notes
    assert note == (
        "other.yaml: Pod team/other: left to other schedulers; its pods do not say schedulerName: understudy"
    )


def test_what_makes_no_sense_is_noted_in_the_cluster_and_refused_in_a_file(shell: Shell) -> None:
    odd = pod("odd", 1, OURS, "  priorityClassName: none-such\n")
    answer = asked(live(joined(NODE % "a", odd, pod("fine", 1, OURS)), "default", "seen"))
    assert actions(answer) == [("Start", "Pod/default/fine")]
    assert answer.notes[0] == "seen"
    assert answer.notes[1].startswith("Pod default/odd: spec.priorityClassName: there is no PriorityClass")
    shell.write(odd=odd)
    with pytest.raises(BadInput, match=r"^odd.yaml: Pod default/odd: spec.priorityClassName: "):
        asked(live(NODE % "a"), "odd.yaml")


def test_a_cluster_that_runs_is_read_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text(json.dumps(job("more", gpus=4)))
    more = str(tmp_path / "more.json")

    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("one", pods=2, gpus=4), job("big", gpus=8))
        await cluster.monitor.until("one runs", lambda: _running(cluster, "one") == 2)
        await cluster.monitor.until("big was told why", lambda: _told(cluster, "big"))
        assert await _leaves_no_trace(cluster, "plan", "--from-cluster", "-f", more, "--what-if", "fail-node=a")
        said = await typed(cluster, "plan", "--from-cluster", "-o", "json")
        assert said.code == 0, said
        assert said.err.endswith("2 nodes, 3 pods; all pods are ours; settings: those of the embedded cluster test\n")
        assert [action["type"] for action in json.loads(said.out)["actions"]] == ["Wait"]
        said = await typed(cluster, "plan", "--from-cluster", "-f", more, "--what-if", "fail-node=a")
        assert "After fail-node=a" in said.out
        assert "default/more" in said.out
        wrong = await refuses(cluster, "plan", "--from-cluster", "--what-if", "fail-node=c")
        assert wrong == "--what-if fail-node=c: no node 'c'; there are: a, b"

    with mock.patch.dict(os.environ, UNDERSTUDY_HOME=str(tmp_path)):
        play(tmp_path / "clusters", [node(name, gpu="4") for name in "ab"], scenario)


async def _leaves_no_trace(cluster: RealCluster, *arguments: str) -> bool:
    """The parts of a cluster go on writing for a moment after everything runs; a command that wrote would do so every
    time."""
    for _ in range(TRIES):
        before = await _versions(cluster)
        await typed(cluster, *arguments)
        if await _versions(cluster) == before:
            return True
    return False


def _running(cluster: RealCluster, name: str) -> int:
    return sum(pod.get("status", {}).get("phase") == "Running" for pod in cluster.monitor.pods_of(name))


def _told(cluster: RealCluster, name: str) -> bool:
    return any(pod.get("status", {}).get("conditions") for pod in cluster.monitor.pods_of(name))


async def _versions(cluster: RealCluster) -> dict[str, Any]:
    """Every object that a scheduler could touch; leases of nodes renew themselves."""
    paths = {
        version: source.namespace for source in WATCHED_RESOURCES for version in source.versions if version != LEASES
    }

    async def listed(resource: Any) -> list[tuple[str, str]]:
        try:
            items = msgspec.json.decode(await cluster.client.get(Ref(resource)))["items"]
        except Refused:
            return []
        return [(item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in items]

    found = await asyncio.gather(*(listed(resource) for resource in paths))
    return {resource.key: versions for resource, versions in zip(paths, found, strict=True)}
