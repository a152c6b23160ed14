"""`understudy serve` with the rights of the shipped roles alone: it binds, preempts, repairs, and is refused nothing.

The jobs name no scheduler: their namespace is opted in.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.kube.cluster.running import Cluster
from understudy.client import KubeClient
from understudy.client.kubeconfig import read_kubeconfig
from understudy.kube.server import ServeOptions, serve
from understudy.ports import Refused

Document = dict[str, Any]
Kubectl = Callable[..., str]
PATIENCE = 60.0
FORBIDDEN = 403


@pytest.fixture
def account(shipped: Kubectl, kube: Cluster) -> Path:
    """A kubeconfig with a token of the deployed account."""
    del shipped
    return kube.account("understudy-system", "understudy")


@contextlib.asynccontextmanager
async def serving(kubeconfig: Path) -> AsyncIterator[list[str]]:
    """Runs `understudy serve` as in its container; yields the requests that were forbidden."""
    forbidden: list[str] = []
    plainly = KubeClient.request

    async def asked(client: KubeClient, method: str, path: str, *rest: Any, **others: Any) -> bytes:
        try:
            return await plainly(client, method, path, *rest, **others)
        except Refused as error:
            if error.code == FORBIDDEN and "being terminated" not in str(error):  # the namespace of an earlier test
                forbidden.append(f"{method} {path}: {error}")
            raise

    config = read_kubeconfig(kubeconfig)
    with mock.patch.object(KubeClient, "request", asked):
        settings = ServeOptions(config=config, identity="tested", lease_namespace="understudy-system", port=0)
        task = asyncio.create_task(serve(settings))
        try:
            yield forbidden
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # which is how it is told to end
            await task


def template(priority: str, gpus: int = 8) -> Document:
    container = {"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"priorityClassName": priority, "restartPolicy": "Never", "containers": [container]}


def job(name: str, priority: str, size: int = 1, **annotations: str) -> Document:
    notes = {f"understudy.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": notes},
        "spec": {"parallelism": size, "completions": size, "template": {"spec": template(priority)}},
    }


class KubectlSession:
    """What the test itself does and reads, with kubectl."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.namespace = namespace
        self._kubectl = kubectl

    async def kubectl(self, *arguments: str, given: str = "") -> str:
        return await asyncio.to_thread(self._kubectl, "-n", self.namespace, *arguments, given=given)

    async def create(self, document: Document) -> None:
        await self.kubectl("create", "-f", "-", given=json.dumps(document))

    async def items(self, kind: str) -> list[Document]:
        return list(json.loads(await self.kubectl("get", kind, "-o", "json"))["items"])

    async def until(self, what: str, true: Callable[[list[Document]], object], kind: str = "pods") -> list[Document]:
        try:
            async with asyncio.timeout(PATIENCE):
                while not true(found := await self.items(kind)):
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"not within {PATIENCE:.0f} s: {what}; {json.dumps(found)[:4000]}") from None
        return found

    async def runs(self, name: str, size: int = 1) -> str:
        """The node of its last pod."""

        def own(pods: list[Document]) -> list[Document]:
            ours = [pod for pod in pods if pod["metadata"]["name"].partition("-")[0] == name]
            return [pod for pod in ours if pod["status"].get("phase") == "Running"]

        pods = await self.until(f"{name} runs", lambda pods: len(own(pods)) >= size)
        assert {pod["spec"]["schedulerName"] for pod in own(pods)} == {"understudy"}
        return str(own(pods)[-1]["spec"]["nodeName"])


async def opted_in(stage: KubectlSession) -> None:
    """The API server applies a new policy after a moment."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": template("")}
    async with asyncio.timeout(PATIENCE):
        while True:
            said = await stage.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=json.dumps(pod))
            if json.loads(said)["spec"]["schedulerName"] == "understudy":
                return
            await asyncio.sleep(0.2)


async def seats_and_preempts(stage: KubectlSession) -> None:
    await stage.create(job("low", f"{stage.namespace}-low", size=2))
    await stage.runs("low", size=2)
    await stage.create(job("high", f"{stage.namespace}-high"))
    await stage.runs("high")
    jobs = {one["metadata"]["name"]: one for one in await stage.items("jobs")}
    assert jobs["low"]["spec"]["suspend"] is True


async def makes_again(stage: KubectlSession) -> None:
    """A pod without an owner is evicted, and created again when there is room."""
    note = {"understudy.dev/on-preemption": "requeue"}
    meta = {"name": "alone", "annotations": note}
    await stage.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template(f"{stage.namespace}-low")}
    )
    await stage.runs("alone")
    await stage.create(job("second", f"{stage.namespace}-high"))
    await stage.runs("second")
    await stage.kubectl("delete", "job", "second")
    await stage.runs("alone")
    await stage.kubectl("delete", "pod", "alone", "--wait=false")


async def ends_as_failed(stage: KubectlSession) -> None:
    await stage.create(job("failing", f"{stage.namespace}-low", on_preemption="fail"))
    await stage.runs("failing")
    await stage.create(job("third", f"{stage.namespace}-high"))
    await stage.runs("third")

    def failed(jobs: list[Document]) -> object:
        [one] = [one for one in jobs if one["metadata"]["name"] == "failing"]
        return [c for c in one["status"].get("conditions", ()) if (c["type"], c["status"]) == ("Failed", "True")]

    await stage.until("the job has failed", failed, "jobs")


async def mends(stage: KubectlSession, nodes: Any) -> None:
    lost = await stage.runs("high")
    nodes.add(f"{stage.namespace}-spare")
    # Not NoExecute: Kubernetes would remove the pod itself, and a job that has none starts, it has not lost anything.
    await stage.kubectl("taint", "node", lost, "node.kubernetes.io/out-of-service=x:NoSchedule")
    await stage.until(
        "an incident is closed", lambda all_: [one for one in all_ if one["status"].get("runningAt")], "incidents"
    )
    assert await stage.runs("high") != lost

    def noted(all_: list[Document]) -> object:
        return [one for one in all_ if "understudy.dev/failed-at" in one["metadata"].get("annotations", {})]

    await stage.until("the failure is noted on the node", noted, "nodes")


def test_the_shipped_roles_are_enough(
    account: Path, kubectl: Kubectl, namespace: str, nodes: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage = KubectlSession(kubectl, namespace)
    for name, value in (("low", 100), ("high", 1000)):
        kubectl("create", "priorityclass", f"{namespace}-{name}", f"--value={value}")
    kubectl("label", "namespace", namespace, "understudy.dev/schedule=true")
    nodes.add(f"{namespace}-a", f"{namespace}-b")

    async def steps() -> None:
        await opted_in(stage)
        async with serving(account) as forbidden:
            await seats_and_preempts(stage)
            await makes_again(stage)
            await ends_as_failed(stage)
            await mends(stage, nodes)
        assert forbidden == []

    asyncio.run(steps())
    assert "cannot follow" not in caplog.text
