"""The node agent with the rights of its shipped role and policy: of its own node it writes two things, and no more."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.manifests import KUSTOMIZE
from tests.eventually import eventually_async
from tests.kube.cluster.identities import write_kubeconfig
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from understudy.client import connect
from understudy.kinds.annotations import NOTICE
from understudy.model.nodes import Notice
from understudy.node_agent.gpus.condition_writer import ConditionWriter
from understudy.node_agent.gpus.gpu_conditions import GpuCondition
from understudy.node_agent.notices.notice_annotation import change_notice
from understudy.objects.resources import NODES
from understudy.ports import PatchForm, Ref, Refused

Document = dict[str, Any]
NAMESPACE = ACCOUNT = "understudy-node-agent"
OWN, OTHER = "agent-node-0", "agent-node-1"
NOTICE_IN_A_MINUTE = Notice(4_000_000_000.0, "azure", "Preempt", 3_999_999_940.0)
LOST = GpuCondition("GPUMissing", "True", "GPULost", "7 of 8 GPUs are there")

REFUSED: list[tuple[str, str, Document, str]] = [
    (OTHER, "", {"metadata": {"annotations": {NOTICE: "x"}}}, "only the node that its pod runs on"),
    (OTHER, "status", {"status": {"conditions": []}}, "only the node that its pod runs on"),
    (OWN, "", {"metadata": {"annotations": {"other": "x"}}}, "no annotation but understudy.dev/notice"),
    (OWN, "status", {"metadata": {"annotations": {"other": "x"}}}, "no annotation but understudy.dev/notice"),
    (OWN, "", {"metadata": {"labels": {"a": "c"}}}, "neither labels nor finalizers"),
    (OWN, "status", {"metadata": {"labels": {"a": None}}}, "neither labels nor finalizers"),
    (OWN, "", {"metadata": {"finalizers": ["example.com/mine"]}}, "neither labels nor finalizers"),
    (OWN, "", {"spec": {"unschedulable": True}}, "neither labels nor finalizers"),
    (OWN, "", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, "neither labels nor finalizers"),
    (OWN, "status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "no conditions but"),
    (OWN, "status", {"status": {"capacity": {"cpu": "9"}}}, "nothing of the status of its node but conditions"),
    (OWN, "status", {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}, "nothing of"),
]


@pytest.fixture
def agent(kube: Cluster, kubectl: Callable[..., str]) -> Iterator[Path]:
    """A kubeconfig with the token of an agent's pod on OWN."""
    kubectl("apply", "-k", KUSTOMIZE / "node-agent")
    kubectl("-n", NAMESPACE, "delete", "daemonset", ACCOUNT)  # its pods are this test
    for name in (OWN, OTHER):
        kube.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"a": "b"}},
                         "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}})  # fmt: skip
    pod = kube.api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent", "namespace": NAMESPACE},
         "spec": {"nodeName": OWN, "serviceAccountName": ACCOUNT, "containers": [{"name": "c", "image": "none"}]}}
    )  # fmt: skip
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "agent", "uid": pod["metadata"]["uid"]}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
    token = kube.api.request("POST", path, asked)["status"]["token"]
    kubeconfig = write_kubeconfig(kube.plane.identities, kube.plane.server, "node-agent", token)
    wait_until(lambda: asyncio.run(is_held(kubeconfig)), "the policy is in force", 60.0, kube.processes)
    yield kubeconfig
    kube.api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/agent", grace=0)
    for name in (OWN, OTHER):
        kube.api.delete(f"/api/v1/nodes/{name}")
    kubectl("delete", "-f", KUSTOMIZE / "node-agent" / "policy.yaml")  # the account stays, like that of the others


async def is_held(kubeconfig: Path) -> bool:
    """The API server applies a new policy after a moment. A write that changes nothing would be let through."""
    return bool(await refusal(kubeconfig, OWN, {"metadata": {"labels": {"probe": str(time.monotonic_ns())}}}))


async def refusal(kubeconfig: Path, node: str, patch: Document, sub: str = "") -> str:
    """Why the write is refused; '' if it is not."""
    async with connect(kubeconfig) as client:
        try:
            await client.patch(Ref(NODES, name=node), patch, sub=sub, form=PatchForm.MERGE)
        except Refused as error:
            return error.message
    return ""


def test_what_is_not_its_own_is_refused(agent: Path) -> None:
    for node, sub, patch, said in REFUSED:
        assert said in asyncio.run(refusal(agent, node, patch, sub)), (node, sub, patch)


def test_what_is_its_own_is_written_and_taken_back(agent: Path, kube: Cluster) -> None:
    async def scenario() -> None:
        async with connect(agent) as client:
            await change_notice(client, OWN, lambda _: NOTICE_IN_A_MINUTE)
            assert kube.api.get(f"/api/v1/nodes/{OWN}")["metadata"]["annotations"][NOTICE].startswith("deadline=2096-")
            await change_notice(client, OWN, lambda _: None)
            assert NOTICE not in kube.api.get(f"/api/v1/nodes/{OWN}")["metadata"].get("annotations", {})
            writer = ConditionWriter(client, OWN)
            writer.tell([LOST])
            task = asyncio.create_task(writer.run())

            def written() -> Document | None:
                conditions = kube.api.get(f"/api/v1/nodes/{OWN}")["status"].get("conditions", [])
                return next((one for one in conditions if one["type"] == "GPUMissing"), None)

            await eventually_async(written)
            assert json.dumps(written()).count("7 of 8 GPUs are there") == 1
            task.cancel()

    asyncio.run(scenario())


def test_it_may_nothing_else(agent: Path) -> None:
    async def scenario() -> None:
        async with connect(agent) as client:
            for path in ("/api/v1/nodes", "/api/v1/pods", f"/api/v1/namespaces/{NAMESPACE}/secrets"):
                with pytest.raises(Refused, match="forbidden"):
                    await client.request("GET", path)
            with pytest.raises(Refused, match="forbidden"):
                await client.delete(Ref(NODES, name=OWN))

    asyncio.run(scenario())
