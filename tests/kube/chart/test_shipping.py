"""The manifests in a real cluster: they are accepted, the account has its rights, and namespaces can be opted in."""

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.deploy.manifests import CHART
from tests.kube.chart.helm import ran
from tests.kube.cluster.running import Cluster
from understudy.client import KubeClient
from understudy.client.kubeconfig import read_kubeconfig
from understudy.control.clock import SystemClock
from understudy.control.watch.reflector import ObjectHeader, Reflector
from understudy.main import main
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject

Document = dict[str, Any]
Kubectl = Callable[..., str]

ACCOUNT = "system:serviceaccount:understudy-system:understudy"
PATIENCE = 60.0


def scheduler_of(kubectl: Kubectl, namespace: str, name: str, meta: Document | None = None, **spec: Any) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **(meta or {})},
        "spec": {"containers": [{"name": "c", "image": "none"}], **spec},
    }
    made = json.loads(kubectl("create", "-f", "-", "-o", "json", given=json.dumps(document)))
    return str(made["spec"]["schedulerName"])


async def until_it_rules(kubectl: Kubectl, namespace: str) -> None:
    """The API server applies a new policy after a moment."""
    async with asyncio.timeout(PATIENCE):
        for number in range(1000):
            if await asyncio.to_thread(scheduler_of, kubectl, namespace, f"probe-{number}") == "understudy":
                return
            await asyncio.sleep(0.2)


def test_a_namespace_is_opted_in_as_a_whole(shipped: Kubectl, namespace: str) -> None:
    assert scheduler_of(shipped, namespace, "before") == "default-scheduler"
    shipped("label", "namespace", namespace, "understudy.dev/schedule=true")
    asyncio.run(until_it_rules(shipped, namespace))
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    assert scheduler_of(shipped, namespace, "plain") == "understudy"
    assert scheduler_of(shipped, namespace, "daemon", {"ownerReferences": [owner]}) == "default-scheduler"
    assert scheduler_of(shipped, namespace, "placed", nodeName="some-node") == "default-scheduler"
    assert scheduler_of(shipped, namespace, "volcano", schedulerName="volcano") == "volcano"
    stays_out = {"labels": {"understudy.dev/schedule": "false"}}
    assert scheduler_of(shipped, namespace, "stays-out", stays_out) == "default-scheduler"


class Everything:
    """A reader that counts the objects it gets."""

    def __init__(self) -> None:
        self.put_objects = 0

    def put(self, obj: KubeObject) -> None:  # noqa: ARG002
        self.put_objects += 1

    def remove(self, obj: KubeObject) -> None: ...

    def cannot_read(self, bare: ObjectHeader, error: BadObject, gone: bool) -> None: ...


def test_its_account_may_follow_everything(shipped: Kubectl, kube: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    del shipped
    path = kube.account("understudy-system", "understudy")

    async def followed() -> int:
        reader = Everything()
        async with KubeClient(read_kubeconfig(path)) as client:
            following = Reflector(client, SystemClock(), reader)
            task = asyncio.create_task(following.run())
            async with asyncio.timeout(PATIENCE):
                await following.synced.wait()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        return reader.put_objects

    assert asyncio.run(followed()) > 0
    assert "cannot follow" not in caplog.text


def test_the_doctor_says_so(shipped: Kubectl, kube: Any, capsys: pytest.CaptureFixture[str]) -> None:
    del shipped
    with mock.patch.dict(os.environ, KUBECONFIG=str(kube.kubeconfig)):
        main(["doctor", "--as", ACCOUNT, "-o", "json"])
    sections = {one["title"]: one["findings"] for one in json.loads(capsys.readouterr().out)["sections"]}
    [rights] = sections["Permissions"]
    assert (rights["level"], rights["text"].partition(" may ")[0]) == ("well", ACCOUNT)
    assert {"incidents are kept"} <= {one["text"] for one in sections["Understudy"]}
    assert [one["level"] for one in sections["Cluster"]] == ["well", "well"]


def test_the_chart_is_taken_too(kube: Any, kubectl: Kubectl, namespace: str, tmp_path: Path) -> None:
    """The names of its objects differ from those of the kustomization, so that both can exist."""
    given = [
        "--set",
        "fullnameOverride=of-helm",
        "--set",
        "crds.install=false",
        "--set",
        "admissionPolicy.enabled=false",
    ]
    arguments = ["install", "of-helm", str(CHART), "--namespace", namespace, *given]
    told = ran(tmp_path, arguments, kube.kubeconfig)
    try:
        assert told.returncode == 0, told.stderr
        assert kubectl("-n", namespace, "get", "deployment", "of-helm", "-o", "name") == "deployment.apps/of-helm\n"
    finally:
        ran(tmp_path, ["uninstall", "of-helm", "--namespace", namespace], kube.kubeconfig)
