"""Document 003, to the letter: jobs that want an island for themselves, by the anti-affinity the document writes down.

It says why that does not work elsewhere: the rule keeps the important job out as long as any pod is on the island.
"""

import asyncio
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import running, seated, uids
from tests.embedded.manifests import job, jobset
from tests.guides.terminal import Terminal, terminal
from tests.seeds import texts
from understudy.objects.resources import NODES, PODS

ISLANDS = """\
name: islands
pools:
- {name: rack, count: %d, cpu: 8, memory: 32Gi, topology: {key: rack, size: 2}}
"""
LINGERS = "sleep 1000000 & trap 'kill $!; sleep 0.3; exit 1' TERM; wait"


def rules() -> list[str]:
    """What stands between a line and the topologyKey that ends it, twice."""
    found = re.findall(r"^ +podAntiAffinity:.*?topologyKey: rack$", texts.text("003"), re.MULTILINE | re.DOTALL)
    assert len(found) == 2
    return [textwrap.dedent(rule) for rule in found]


def exclusive(name: str, priority: str) -> Document:
    """A Job of two pods with the rule of the document, which names `my-job`."""
    document = job(name, priority, pods=2, program=LINGERS)
    document["spec"]["template"]["spec"]["affinity"] = yaml.safe_load(rules()[0].replace("my-job", name))
    return document


def test_the_important_job_takes_an_island_and_no_island_is_ever_shared(tmp_path: Path) -> None:
    jobs = [exclusive("first", "low"), exclusive("second", "low"), exclusive("my-job", "high")]

    async def scenario() -> None:
        async with terminal(tmp_path, [shared_islands]) as typing:
            await _island_changes_hands(typing, await _racks(typing, 2), jobs)

    asyncio.run(scenario())


async def _racks(typing: Terminal, count: int) -> ClusterMonitor:
    file = typing.home.parent / "islands.yaml"
    file.write_text(ISLANDS % (2 * count))
    await typing.types(f"understudy up --detach -f {file}")
    for priority, value in (("low", 1000), ("high", 2000)):
        await typing.types(f"understudy priority create {priority} --value {value}")
    assert typing.monitor is not None
    return typing.monitor


async def _island_changes_hands(typing: Terminal, monitor: ClusterMonitor, jobs: list[Document]) -> None:
    *low, high = jobs
    for document in low:
        await typing.apply(document)
        await monitor.until("it runs", lambda name=document["metadata"]["name"]: running(monitor, name, 2))  # type: ignore[misc]
    before = {name: uids(monitor.pods_of(name)) for name in ("first", "second")}
    await typing.apply(high)
    taken = {_rack(monitor, pod) for pod in await monitor.until("my-job runs", lambda: running(monitor, "my-job", 2))}
    gone = [name for name in before if not seated(monitor, name)]
    assert gone, "a gang had to leave"
    assert all(uids(monitor.pods_of(name)) == before[name] for name in before if name not in gone)
    assert len(gone) == len(taken)
    await typing.types("understudy delete my-job")
    for name in before:
        await monitor.until(f"{name} runs again", lambda name=name: running(monitor, name, 2))  # type: ignore[misc]


def test_a_jobset_goes_whole_and_the_important_one_takes_its_islands(tmp_path: Path) -> None:
    """The three steps of the document: the low one runs, the high one comes, and its leader finds a place."""
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    low, high = (
        jobset(name, islands, job(name, name, pods=2, program=LINGERS)) for name, islands in (("low", 3), ("high", 2))
    )
    low["metadata"]["annotations"] = high["metadata"]["annotations"] = {key: "rack"}

    async def scenario() -> None:
        async with terminal(tmp_path, [shared_islands]) as typing:
            monitor = await _racks(typing, 3)
            await typing.apply(low)
            await monitor.until("low runs", lambda: running(monitor, "low", 6))
            await typing.apply(high)
            pods = await monitor.until("high runs", lambda: running(monitor, "high", 4))
            assert len({_rack(monitor, pod) for pod in pods}) == 2
            assert seated(monitor, "low") == []
            await typing.types("understudy delete high")
            await monitor.until("low runs again", lambda: running(monitor, "low", 6))

    asyncio.run(scenario())


def test_the_second_rule_is_no_yaml_and_the_answer_says_where(tmp_path: Path) -> None:
    """It lacks a colon after `mismatchLabelKeys`; and with it, it would keep out all but the own priority."""
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(rules()[1])
    (tmp_path / "pod.yaml").write_text(_pod_around(rules()[1]))

    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            printed = await typing.run(f"understudy apply -f {tmp_path}/pod.yaml")
            assert printed.code == 2
            assert re.match(rf"understudy: {tmp_path}/pod.yaml: .*line \d+", printed.text), printed.text

    asyncio.run(scenario())


def _pod_around(affinity: str) -> str:
    head = """\
apiVersion: v1
kind: Pod
metadata: {name: leader}
spec:
  containers: [{name: main, image: any}]
  affinity:
"""
    return head + textwrap.indent(affinity, "    ") + "\n"


def _rack(monitor: ClusterMonitor, pod: Document) -> str:
    node: dict[str, Any] | None = monitor.find(NODES, pod["spec"]["nodeName"])
    assert node is not None
    return str(node["metadata"]["labels"]["rack"])


def shared_islands(monitor: ClusterMonitor) -> Iterator[str]:
    found: dict[str, set[str]] = {}
    for pod in _alive(monitor.all(PODS)):
        found.setdefault(_rack(monitor, pod), set()).add(pod["metadata"]["labels"]["job-name"])
    yield from (f"{rack} is shared by {sorted(there)}" for rack, there in found.items() if len(there) > 1)


def _alive(pods: Iterable[Document]) -> Iterator[Document]:
    for pod in pods:
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            yield pod
