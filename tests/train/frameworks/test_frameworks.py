"""The examples on a cluster: preempted, and then bereft of a node, they end with the very loss of a calm run."""

import asyncio
import importlib.util
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.clients.environments import Client, interpreter_of
from tests.embedded.cluster_monitor import Document
from tests.embedded.end_to_end.test_jobs import log_of, running
from tests.embedded.end_to_end.training_manifests import has, role, training
from tests.embedded.manifests import STAYS
from tests.embedded.real_cluster import KINDS, RealCluster, node, play
from tests.train.frameworks.held import PACE
from understudy.kinds.annotations import PREFIX
from understudy.kinds.training_operator.jaxjob import JAX_JOBS
from understudy.objects.resources import PODS

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "train"
STEPS = 120
PATIENCE = 300.0  # seconds; on a machine that has nothing else to do it takes five


def with_jax() -> str:
    return str(interpreter_of(Client("jax", "jax>=0.8,<1", "", ())))


def with_torch() -> str:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return sys.executable


class Framework(msgspec.Struct, frozen=True):
    python: Callable[[], str]
    manifest: str
    script: str
    first: str  # the pod that tells how it goes


FRAMEWORKS = {
    "jax": Framework(with_jax, "jax-distributed.yaml", "jax_distributed.py", "worker-0"),
    "pytorch": Framework(with_torch, "pytorch-ddp.yaml", "pytorch_ddp.py", "master-0"),
}


def config_map(framework: Framework) -> Document:
    data = {framework.script: (EXAMPLES / framework.script).read_text()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "training"}, "data": data}


def example(framework: Framework, name: str, python: str, go: Path) -> Document:
    """The manifest as people apply it, but for the interpreter, the pace and a low priority."""
    shown = yaml.safe_load((EXAMPLES / framework.manifest).read_text())
    document: Document = json.loads(json.dumps(shown))  # what an alias repeats becomes parts of their own
    document["metadata"]["name"] = name
    [roles] = [field for key, field in document["spec"].items() if key.endswith("ReplicaSpecs")]
    for one in roles.values():
        spec = one["template"]["spec"]
        [container] = spec["containers"]
        _, script, flag, _ = container["command"]
        options = [flag, f"/checkpoints/{name}", "--steps", str(STEPS), "--pace", str(PACE)]
        container["command"] = [python, str(Path(__file__).with_name("held.py")), str(go), script, *options]
        container["env"] = [{"name": "PYTHONPATH", "value": ":".join([str(ROOT), *more_paths(python)])}]
        spec["priorityClassName"] = "low"
    return document


def more_paths(python: str) -> list[str]:
    """Where torch may lie that this interpreter was told of by its environment."""
    return [path for path in sys.path if path.endswith("site-packages")] if python == sys.executable else []


async def said(cluster: RealCluster, framework: Framework, words: str) -> None:
    """By the first rank of the disturbed one."""

    async def heard() -> bool:
        pod = cluster.monitor.find(PODS, f"disturbed-{framework.first}")
        runs = pod is not None and pod["status"].get("phase") == "Running"
        return runs and words in await log_of(cluster, pod or {})

    await until(cluster, words, heard)


async def until(cluster: RealCluster, what: str, seen: Callable[[], Awaitable[bool]]) -> None:
    """More patient than the cluster's monitor: a framework takes seconds of computing to start."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not await seen():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"never seen: {what}\n{cluster.monitor.picture()}") from None


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_disturbed_run_ends_like_a_calm_one(tmp_path: Path, name: str) -> None:
    framework = FRAMEWORKS[name]
    python, calm, go = framework.python(), tmp_path / "calm", tmp_path / "go"
    calm.touch()
    kind = yaml.safe_load((EXAMPLES / framework.manifest).read_text())["kind"]

    async def ends(cluster: RealCluster, job: str) -> tuple[str, str]:
        async def done() -> bool:
            return bool(has(cluster.monitor, job, "Succeeded", kind))

        await until(cluster, f"{job} is done", done)
        pod = cluster.monitor.find(PODS, f"{job}-{framework.first}")
        assert pod is not None
        begins, ends = [
            line for line in (await log_of(cluster, pod)).splitlines() if " step" in line or "begin" in line
        ]
        return begins, ends

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(config_map(framework), yaml.safe_load((EXAMPLES / "claim.yaml").read_text()))
        await cluster.create(example(framework, "calm", python, calm))
        begins, undisturbed = await ends(cluster, "calm")
        assert begins == "2 processes begin"

        await cluster.create(example(framework, "disturbed", python, go))
        await said(cluster, framework, "2 processes begin")
        await cluster.create(training("JAXJob", "hero", {"Worker": role(STAYS, 2, priority="high", gpus=1)}))
        await monitor.until("the hero runs", lambda: running(monitor, "hero", 2))
        assert not monitor.pods_of("disturbed")
        await cluster.delete(JAX_JOBS, "hero", propagation="Background")

        await said(cluster, framework, "2 processes go on from step")
        [other] = [one for one in monitor.pods_of("disturbed") if not one["metadata"]["name"].endswith(framework.first)]
        await cluster.fail(other["spec"]["nodeName"])
        go.touch()
        begins, disturbed = await ends(cluster, "disturbed")
        assert begins.startswith("2 processes go on from step")
        assert disturbed == undisturbed
        job: Any = monitor.find(KINDS["kubeflow.org/v1", kind], "disturbed")
        assert f"{PREFIX}last-checkpoint" in job["metadata"]["annotations"]

    play(tmp_path, [node(one, gpu="1") for one in ("one", "two", "three")], scenario)
