"""The fourth world: a real API server with the real operators, nodes without machines, and `understudy serve`.

Every scenario has a namespace of its own in one cluster. The state of nodes, priorities and pods
is written by the same components as in any cluster. Only taints of silent nodes are written at once, by this world.
"""

import asyncio
import contextlib
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import msgspec

from tests.embedded.cluster_monitor import ClusterMonitor
from tests.kube import scenario_manifests
from tests.kube.cluster import kwok
from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.cluster.stages import LEAVES_AFTER
from tests.scenarios.live_world import LiveWorld
from tests.scenarios.scenario_file import Document, Scenario
from tests.scenarios.worlds import WorldState
from understudy.client import connect
from understudy.control.clock import SystemClock
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_leases import LeaseClock
from understudy.kinds.annotations import format_time
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects import resources
from understudy.objects.resources import LEASES, NODES, PODS, Resource
from understudy.ports import Ref, Refused

START = 60.0
KILLED = 137  # the exit code of a program that was killed
NEVER = "10h"
CLOSED = "node.kubernetes.io/unschedulable"
_GIVEN_UP = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
# The kinds whose operators run here. Those that no scenario has are not looked at.
JOB_KINDS = (
    resources.JOBS, resources.JOB_SETS, PYTORCH_JOBS, resources.MPI_JOBS,
    resources.POD_GROUPS, resources.COSCHEDULING_GROUPS, resources.VOLCANO_GROUPS,
)  # fmt: skip

_numbers = itertools.count()


class KubeWorld(LiveWorld):
    ageing_leases = False  # here a lease that says something else than before was renewed, whatever it says

    def __init__(self, scenario: Scenario, kube: Cluster, path: Path) -> None:
        super().__init__(scenario, f"scenario-{os.getpid()}-{next(_numbers)}")
        self.kube = kube
        self.path = path
        self.job_kinds = tuple(kind for kind in JOB_KINDS if kube.api.exists(kind.path()))

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        view = ClusterView(
            self.policy,
            "understudy",
            invalid_objects=InvalidObjects(),
            watched=WatchedCluster(LeaseClock(SystemClock()), complete=False),
        )
        async with contextlib.AsyncExitStack() as stack:
            self.client = await stack.enter_async_context(connect(self.kube.kubeconfig))
            self.monitor = ClusterMonitor(self.client, self.job_kinds, self.policy, view)
            await stack.enter_async_context(self.monitor.watching())
            stack.push_async_callback(self._clean_up)
            self._set_up()
            await self._create(*self.scenario.budgets)
            await self.monitor.until("all nodes are ready", self._nodes_are_ready)
            self.process = stack.enter_context(self._serving())
            self._wait_until_it_leads()
            yield
        assert not self.monitor.wrong, f"rules were broken on the way: {self.monitor.wrong}"
        assert not (words := list(scenario_manifests.complaints(self._log()))), "\n".join(words)

    def _set_up(self) -> None:
        self.kube.namespace(self.namespace)
        scenario_manifests.set_priorities(self.kube.api, self.scenario.priority_classes(), self.namespace)
        self.kube.api.apply_all(self.scenario.bound_claims(self.namespace), self.namespace)
        self.kube.nodes.create([scenario_manifests.node(node) for node in self.scenario.nodes()], wait=False)

    def _nodes_are_ready(self) -> bool:
        leases = {lease["metadata"]["name"] for lease in self.monitor.all(LEASES)}
        for wanted in self.scenario.nodes():
            name = wanted["metadata"]["name"]
            node = self.monitor.find(NODES, name)
            if node is None or name not in leases or not _is_well(node) or _taints(node) != _taints(wanted):
                return False
        return True

    async def _clean_up(self) -> None:
        """In a terminating namespace no controller creates pods, and its objects are deleted with it."""
        self.kube.api.delete(f"/api/v1/namespaces/{self.namespace}")
        for kind in self.job_kinds:
            self.kube.api.delete(kind.path(self.namespace))
        for claim in self.scenario.claims:
            self.kube.api.delete(f"/api/v1/persistentvolumes/{self.namespace}-{claim}")
        scenario_manifests.remove_pods(self.kube.api, self.namespace)
        self.kube.clear_nodes(*(node["metadata"]["name"] for node in self.scenario.nodes()))
        await self.monitor.until(
            "nothing is left", lambda: not any(map(self.monitor.all, (*self.job_kinds, PODS, NODES)))
        )

    # Who decides

    @contextlib.contextmanager
    def _serving(self) -> Iterator[Process]:
        settings = self.path / "understudy.yaml"
        settings.write_bytes(msgspec.json.encode({"policy": self.scenario.policy}))
        self.port = free_port()
        self.log = self.path / "serve.log"
        command = [sys.executable, "-m", "understudy", "serve", "--no-election", f"--listen={HOST}:{self.port}"]
        command += [f"--kubeconfig={self.kube.kubeconfig}", f"--settings={settings}"]
        try:
            with running(command, self.log, name="understudy") as process:
                yield process
        finally:
            print(self.log.read_text())  # noqa: T201  shown where a scenario fails

    def _wait_until_it_leads(self) -> None:
        wait_until(lambda: scenario_manifests.answers(self.port, "/readyz"), "understudy leads", START, [self.process])

    def _control(self) -> int:
        self.process.check()
        return self.process.pid

    def _log(self) -> Iterable[str]:
        return self.log.read_text().splitlines()

    def _job_kinds(self) -> tuple[Resource, ...]:
        return self.job_kinds

    def _runnable(self, document: Document) -> Document:
        return scenario_manifests.manifest(document, self.namespace)

    def see(self) -> WorldState:
        """Scenarios call the namespace of jobs `default`."""
        seen = super().see()
        plainly = {
            job: msgspec.structs.replace(why, words=why.words.replace(f"{self.namespace}/", "default/"))
            for job, why in seen.waiting.items()
        }
        return msgspec.structs.replace(seen, waiting=plainly)

    # What happens

    def _crash(self, name: str) -> None:
        for pod in self.monitor.pods_of(name):
            kwok.end_pod(self.kube.api, self.namespace, pod["metadata"]["name"], code=KILLED)

    def _cling(self, name: str) -> None:
        self.clinging.add(name)
        for pod in self.monitor.pods_of(name):
            self._do(self._take_time(pod, NEVER))

    def _let_go(self, name: str) -> None:
        """Pods that are being deleted end now; the others as soon as they are deleted."""
        self.clinging.discard(name)
        for pod in self.monitor.all(PODS):
            meta = pod["metadata"]
            if meta.get("annotations", {}).get(LEAVES_AFTER) == NEVER:
                self._do(self._end(pod) if "deletionTimestamp" in meta else self._take_time(pod, None))

    async def _take_time(self, pod: Document, how_long: str | None) -> None:
        await self._patch(PODS, pod["metadata"]["name"], {"metadata": {"annotations": {LEAVES_AFTER: how_long}}})

    async def _end(self, pod: Document) -> None:
        with contextlib.suppress(Refused):  # it is gone
            await self.client.delete(self._ref(PODS, pod["metadata"]["name"]), grace=0)

    def _cordon(self, name: str) -> None:
        super()._cordon(name)
        self._do(self.monitor.until(f"{name} is closed", lambda: _is_closed(self._node(name))))

    def _uncordon(self, name: str) -> None:
        """The node lifecycle controller takes a moment to remove its taints."""
        super()._uncordon(name)
        self._do(self.monitor.until(f"{name} is open", lambda: not _is_closed(self._node(name))))

    async def _die(self, name: str) -> None:
        """The kubelet stops. What the control plane would write after a delay is written at once."""
        self.kube.nodes.die(name)
        now = format_time(int(time.time()))
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
        await self.client.patch(Ref(NODES, name=name), {"status": {"conditions": [unknown]}}, sub="status")

    async def _heal(self, name: str) -> None:
        """The control plane removes the taints of a healthy node after a delay; here they are removed at once."""
        self.kube.nodes.reboot(name)
        await self.monitor.until(f"{name} is ready", lambda: _is_well(self._node(name)))
        await self.monitor.until(f"{name} may be used", lambda: not _given_up(self._node(name), "NoSchedule"))
        while given_up := _given_up(self._node(name), "NoExecute"):
            left = [taint for taint in self._node(name)["spec"]["taints"] if taint not in given_up]
            await self._patch(NODES, name, {"spec": {"taints": left or None}})
            await asyncio.sleep(0)
            await self.monitor.until(f"{name} has other taints", lambda: not _given_up(self._node(name), "NoExecute"))
        await self.monitor.until(f"{name} is well", lambda: name not in self.monitor.snapshot().unhealthy)


def _is_well(node: Document) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", ()))


def _taints(node: Document) -> set[tuple[str, str]]:
    return {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints", ())}


def _is_closed(node: Document) -> bool:
    return (CLOSED, "NoSchedule") in _taints(node)


def _given_up(node: Document, effect: str) -> list[Document]:
    return [t for t in node["spec"].get("taints", ()) if t["key"] in _GIVEN_UP and t["effect"] == effect]
