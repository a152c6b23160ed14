"""Document 002, to the letter, as far as it is about pools, training jobs and eviction: a TFJob on Azure spot machines.

What it leaves out with `...` is filled in here, and what it has wrong is refused with the place where it belongs.
"""

import asyncio
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.guides.terminal import Terminal, terminal
from tests.seeds import texts
from tests.seeds.preemptions import needs, start
from understudy.objects.resources import PODS

TAINT = "kubernetes.azure.com/scalesetpriority"
POOL = {"a-custom-key.io/my-key": "a-custom-value"}
# What the document asks its readers to add, as Azure suggests.
TOLERATION = {"key": TAINT, "operator": "Equal", "value": "spot", "effect": "NoSchedule"}
LAST_WORDS = "saved before the machine went"
STAYS = f"sleep 1000000 & trap 'kill $!; echo {LAST_WORDS}; exit 0' TERM; wait"
CONTAINER: Document = {"name": "tensorflow", "image": "training:0.1", "command": ["sh", "-c", STAYS]}


def skeleton(ps: Document, worker: Document) -> str:
    """The TFJob of the document: its three gaps filled, in their order."""
    [written] = [block for block in texts.code_blocks("002", "yaml") if "kind: TFJob" in block]
    fillings = iter(["replicas: 1", *(f"  {json.dumps(spec)}" for spec in (ps, worker))])
    filled = re.sub(r"\.\.\.", lambda _: next(fillings), written)
    assert next(fillings, None) is None
    return filled


def steering() -> dict[str, Document]:
    """The fragments of the document that steer a Worker, by the field they do it with."""
    found: dict[str, Document] = {}
    for block in texts.code_blocks("002", "yaml"):
        if block.startswith("Worker:"):
            spec = yaml.safe_load(block)["Worker"]["spec"]
            found["nodeSelector" if "nodeSelector" in spec else "nodeAffinity"] = spec
    assert sorted(found) == ["nodeAffinity", "nodeSelector"]
    return found


def best_practice() -> Document:
    """The last manifest of the document: a selector and a grace period."""
    [spec] = [yaml.safe_load(block)["spec"] for block in texts.code_blocks("002", "yaml") if "GracePeriod" in block]
    assert spec["terminationGracePeriodSeconds"] == 25
    found: Document = spec
    return found


def completed(spec: Document) -> Document:
    """A pod as the document has it, with a container that runs here and the toleration."""
    return {**copy.deepcopy(spec), "containers": [CONTAINER], "tolerations": [TOLERATION]}


def in_its_place(document: Document) -> Document:
    """`template.spec` where the document writes `spec`."""
    for role in document["spec"]["tfReplicaSpecs"].values():
        role["template"] = {"spec": role.pop("spec")}
    return document


@pytest.mark.parametrize("field", ["nodeAffinity", "nodeSelector"])
def test_a_tfjob_is_steered_onto_the_pool_and_has_time_to_save(field: str, tmp_path: Path) -> None:
    needs("kubectl")
    worker = completed(steering()[field] | {"terminationGracePeriodSeconds": 25})
    written = skeleton(ps={"containers": [CONTAINER]}, worker=worker)

    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            await start(typing, "azure-spot")
            await typing.types("kubectl create namespace your-user-namespace")
            await _refused(typing, written)
            right = in_its_place(yaml.safe_load(written))
            name = await _created(typing, right)
            assert typing.monitor is not None
            pods = await typing.monitor.until("it runs", lambda: _running(typing.monitor, 2))
            assert {_role(pod): pod["spec"]["nodeName"].partition("-")[0] for pod in pods} == {
                "ps": "system",
                "worker": "spot",
            }
            [worker_pod] = [pod for pod in pods if _role(pod) == "worker"]
            await _evicted(typing, name, worker_pod)

    asyncio.run(scenario())


async def _refused(typing: Terminal, written: str) -> None:
    (typing.place / "tfjob.yaml").write_text(written)
    printed = await typing.run("kubectl create -f tfjob.yaml")
    assert printed.code != 0, printed.text
    for role in ("PS", "Worker"):
        assert f"spec.tfReplicaSpecs.{role}.spec" in printed.text
        assert f"spec.tfReplicaSpecs.{role}.template.spec" in printed.text


async def _created(typing: Terminal, document: Document) -> str:
    """`generateName` wants `create`: `kubectl apply` has nothing to compare with."""
    (typing.place / "tfjob.json").write_text(json.dumps(document))
    assert "generate name" in (await typing.run("kubectl apply -f tfjob.json")).text
    printed = await typing.types("kubectl create -f tfjob.json")
    found = re.fullmatch(r"tfjob\.kubeflow\.org/(tfjob\w{5}) created\n", printed)
    assert found, printed
    return found[1]


async def _evicted(typing: Terminal, name: str, worker: Document) -> None:
    """The machine leaves: the worker gets its grace period, says its last words and runs again on another one."""
    node, uid = worker["spec"]["nodeName"], worker["metadata"]["uid"]
    await typing.types(f"understudy node drain {node}")

    def moved() -> list[Document]:
        pods = _running(typing.monitor, 2)
        return [pod for pod in pods if _role(pod) == "worker" and pod["metadata"]["uid"] != uid]

    assert typing.monitor is not None
    [again] = await typing.monitor.until("it runs elsewhere", moved)
    assert again["spec"]["nodeName"] != node
    assert again["spec"]["nodeName"].startswith("spot-")
    assert again["spec"]["terminationGracePeriodSeconds"] == 25
    logs = await typing.types(f"understudy logs {name} -n your-user-namespace -i worker-0 --previous")
    assert LAST_WORDS in logs
    shown = await typing.types(f"understudy get {name} -n your-user-namespace")
    assert re.search(r"NODE +CAPACITY$", shown, re.MULTILINE)
    assert re.search(rf"{again['spec']['nodeName']} +spot$", shown, re.MULTILINE)


def _running(monitor: ClusterMonitor | None, count: int) -> list[Document]:
    pods = monitor.all(PODS) if monitor else []
    up = [pod for pod in pods if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
    return up if len(up) == count else []


def _role(pod: Document) -> Any:
    return pod["metadata"]["labels"]["training.kubeflow.org/replica-type"]


def test_the_best_practice_of_the_document_holds_for_a_lone_pod(tmp_path: Path) -> None:
    spec = best_practice()
    spec["nodeSelector"] = {"agentpool": "spot", **{key: POOL[key] for key in POOL}}
    pod: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lone"}, "spec": completed(spec)}

    async def scenario() -> None:
        async with terminal(tmp_path) as typing:
            await start(typing, "azure-spot")
            await typing.apply(pod)
            assert typing.monitor is not None
            [up] = await typing.monitor.until("it runs", lambda: _running(typing.monitor, 1))
            assert up["spec"]["nodeName"].startswith("spot-")
            assert up["spec"]["terminationGracePeriodSeconds"] == 25

    asyncio.run(scenario())
