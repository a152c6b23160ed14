"""The third world: a real embedded cluster, with processes for pods."""

import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from tests.embedded.real_cluster import RealCluster, Setup, running
from tests.scenarios.live_world import LiveWorld, resource_of
from tests.scenarios.operators import Operators
from tests.scenarios.scenario_file import Document, Scenario
from tests.scenarios.snapshot_world import key_of
from tests.scenarios.worlds import name_of
from understudy.embedded.clusters.process_lock import CONTROL
from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import ShimState
from understudy.kinds.annotations import WARM_FOR, format_time
from understudy.kinds.registry import CONTROLLERS
from understudy.model.nodes import Verdict
from understudy.objects.resources import LEASES, NODES, PODS, Resource
from understudy.ports import PatchForm, Ref

SILENCE = 60.0  # seconds for which nothing was heard of a node that is lost
OWN_KINDS = {controller.resource.kind for controller in CONTROLLERS}
# Stays until it is told to go, and longer if it clings: until the file it is given the name of is taken away.
PROGRAM = """sleep 1000000 & trap 'kill $!; while [ -e "$0" ]; do sleep 0.05; done; exit 0' TERM; wait"""


# What cannot run here, and why


def _brings_pods_of_jobs(scenario: Scenario) -> bool:
    keys = [(key_of(document), document["kind"]) for document in scenario.manifests()]
    return any(kind == "Pod" and not key.startswith(("Pod/", "PodGroup/")) for key, kind in keys)


def _brings_groups(scenario: Scenario) -> bool:
    return any(key_of(document).startswith("PodGroup/") for document in scenario.manifests())


def _brings_understudies(scenario: Scenario) -> bool:
    return any(WARM_FOR in document["metadata"].get("annotations", {}) for document in scenario.manifests())


OBSTACLES: tuple[tuple[Callable[[Scenario], bool], str], ...] = (
    (_brings_pods_of_jobs, "the pods of a job are made by its controller here, not given"),
    (_brings_groups, "groups of pods are for Kubernetes; this cluster serves no PodGroups"),
    (_brings_understudies, "understudies are made by their controller here; they have a story of their own"),
)


def why_not(scenario: Scenario) -> str:
    """Why a scenario cannot run in this world; '' where it can."""
    return "; ".join(words for is_in_the_way, words in OBSTACLES if is_in_the_way(scenario))


class EmbeddedWorld(LiveWorld):
    def __init__(self, scenario: Scenario, path: Path) -> None:
        self.path = path
        super().__init__(scenario)
        kinds = {document["kind"]: resource_of(document) for document in scenario.manifests()}
        self.strange_kinds = tuple(kind for name, kind in kinds.items() if name not in (*OWN_KINDS, "Pod"))

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        setup = Setup(kinds=self.strange_kinds, policy=self.policy)
        async with running(self.path, list(map(_registered, self.scenario.nodes())), setup) as cluster:
            self.cluster: RealCluster = cluster
            self.client, self.monitor = cluster.client, cluster.monitor
            self.operators = Operators(cluster, self.strange_kinds)
            await cluster.create(
                *self.scenario.priority_classes(), *self.scenario.budgets, *self.scenario.volume_claims()
            )
            yield

    def _control(self) -> int:
        return self.cluster.process(CONTROL)

    def _log(self) -> Iterable[str]:
        return self.cluster.log_of(CONTROL)

    def _job_kinds(self) -> tuple[Resource, ...]:
        return (*(controller.resource for controller in CONTROLLERS), *self.strange_kinds)

    async def _acting(self) -> str:
        if await self.operators.act():
            return "operators act"
        snapshot = self.monitor.snapshot()
        for name in self.lost:
            if snapshot.nodes[name].node.health.verdict is not Verdict.LOST:
                await self._silence(name)  # the node reported until it failed
                return f"{name} is not lost yet"
        return ""

    # Events

    def _crash(self, name: str) -> None:
        """Kills the processes of all its pods, and waits until the pods count as failed."""
        pods = {pod["metadata"]["uid"] for pod in self.monitor.pods_of(name)}
        for uid in pods:
            for path in self.cluster.folder.pods.glob(f"{uid}/containers/*/*/state.json"):
                state = container_files.read(path, ShimState)
                assert state is not None
                os.kill(state.pid, signal.SIGKILL)
        self._do(self.monitor.until(f"{name} has failed", lambda: self._have_failed(pods)))

    def _have_failed(self, uids: set[str]) -> bool:
        pods = [pod for pod in self.monitor.all(PODS) if pod["metadata"]["uid"] in uids]
        return all(pod.get("status", {}).get("phase") == "Failed" for pod in pods)

    def _cling(self, name: str) -> None:
        self.clinging.add(name)
        self._file_of(name).touch()

    def _let_go(self, name: str) -> None:
        self.clinging.discard(name)
        self._file_of(name).unlink()

    async def _die(self, name: str) -> None:
        await self.cluster.fail(name)
        await self._silence(name)

    async def _silence(self, name: str) -> None:
        """Ages the last sign of life of the node, which reports no more."""
        renewed = format_time(time.time() - SILENCE)
        ref = Ref(LEASES, "kube-node-lease", name)
        await self.client.patch(ref, {"spec": {"renewTime": renewed}}, form=PatchForm.MERGE)

    async def _heal(self, name: str) -> None:
        """The controller that tainted the node is stopped, and could remove the taint only after the step."""
        await self.cluster.recover(name)
        await self._patch(NODES, name, {"spec": {"taints": self._own_taints(name)}})
        await self.monitor.until(f"{name} is well", lambda: name not in self.monitor.snapshot().unhealthy)

    def _own_taints(self, name: str) -> list[Document]:
        return next(node["spec"]["taints"] for node in self.scenario.nodes() if node["metadata"]["name"] == name)

    def _file_of(self, job: str) -> Path:
        return self.path / f"{job} clings"

    def _runnable(self, document: Document) -> Document:
        """The manifest with a small program in its containers."""
        program = ["sh", "-c", PROGRAM, str(self._file_of(name_of(key_of(document))))]
        made: Document = _with_containers(document, {"command": program})
        roles = made.get("spec", {}).get("mpiReplicaSpecs", {})
        if "Launcher" in roles:  # it ends when its workers are gone
            roles["Launcher"] = _with_containers(roles["Launcher"], {"command": ["mpirun", *program]})
        return made


def _registered(node: Document) -> Document:
    """The node as the agent expects it: the agent reports its state itself."""
    offers = {name: str(amount) for name, amount in node["status"]["allocatable"].items()}
    return {**node, "status": {"capacity": offers, "allocatable": offers}}


def _with_containers(value: Any, program: Document) -> Any:
    """The manifest with this program, which needs no files, in every container."""
    match value:
        case {"containers": list(containers)}:
            plain = [{**{k: v for k, v in one.items() if k != "volumeMounts"}, **program} for one in containers]
            return {**{k: v for k, v in value.items() if k != "volumes"}, "containers": plain}
        case dict():
            return {key: _with_containers(inner, program) for key, inner in value.items()}
        case list():
            return [_with_containers(inner, program) for inner in value]
        case _:
            return value
