"""What the worlds have in common in which a cluster really runs and is reached only through its API.

No plan is made while a step happens: the control process is stopped until all of it has happened. Waiting takes no
time, since everything that is written down anywhere is made so much older instead.
"""

import abc
import asyncio
import os
import signal
import time
from collections.abc import Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from tests.decide import reference_rules
from tests.embedded.cluster_monitor import ClusterMonitor
from tests.embedded.real_cluster import KINDS
from tests.scenarios import time_shift
from tests.scenarios.loop_log import LoopLog
from tests.scenarios.scenario_file import Document, Scenario
from tests.scenarios.snapshot_world import key_of
from tests.scenarios.worlds import WorldState, name_of, world_state
from understudy.client import KubeClient
from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.kinds.annotations import PREFIX, format_notice, format_time
from understudy.model.gangs import Gang
from understudy.model.nodes import Notice, Verdict
from understudy.model.plans import Plan, Wait
from understudy.objects.resources import NODES, PODS, Resource
from understudy.ports import PatchForm, Ref

Result = TypeVar("Result")

QUIET = 0.2  # seconds without a change that count as rest
LOOK = 0.03
PATIENCE = 90.0


class LiveWorld(abc.ABC):
    """A context manager: the cluster runs inside. `_started` sets `client` and `monitor`."""

    client: KubeClient
    monitor: ClusterMonitor
    ageing_leases = True  # whether silence is made longer by older leases

    def __init__(self, scenario: Scenario, namespace: str = "default") -> None:
        self.scenario = scenario
        self.namespace = namespace
        self.policy = msgspec.convert(scenario.policy, Policy)
        self.manifests: dict[str, list[Document]] = {}
        for document in map(self._runnable, scenario.manifests()):
            self.manifests.setdefault(key_of(document), []).append(document)
        self.keys = {name_of(key): key for key in self.manifests}
        self.submitted: set[str] = set()
        self.clinging: set[str] = set()
        self.lost: set[str] = set()
        self.unwell: set[str] = set()  # suspect or leaving nodes
        self.made = Plan()  # the plan for the present state
        self.stopped = False
        self.went_on_at = 0.0  # monotonic: the view may not show yet what happened before
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.context = self._started()
        try:
            self._do(self.context.__aenter__())
        except BaseException:
            self.runner.close()
            raise
        self.told = LoopLog(self.monitor.places)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in tuple(self.clinging):
            self._let_go(name)
        self._go_on()
        try:
            self._do(self.context.__aexit__(kind, error, trace))
        finally:
            self.runner.close()

    def _do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(work)

    # What each world implements

    @abc.abstractmethod
    def _started(self) -> AbstractAsyncContextManager[None]:
        """Creates the cluster with nodes, priorities and budgets."""

    @abc.abstractmethod
    def _runnable(self, document: Document) -> Document:
        """A manifest in the form this cluster accepts."""

    @abc.abstractmethod
    def _control(self) -> int:
        """The scheduling process."""

    @abc.abstractmethod
    def _log(self) -> Iterable[str]:
        """Its log."""

    @abc.abstractmethod
    def _job_kinds(self) -> tuple[Resource, ...]: ...

    @abc.abstractmethod
    def _crash(self, name: str) -> None: ...

    @abc.abstractmethod
    def _cling(self, name: str) -> None: ...

    @abc.abstractmethod
    def _let_go(self, name: str) -> None: ...

    @abc.abstractmethod
    async def _die(self, name: str) -> None: ...

    @abc.abstractmethod
    async def _heal(self, name: str) -> None: ...

    async def _acting(self) -> str:
        """What this world does in place of missing controllers, while there is anything to do."""
        return ""

    # Events

    def happen(self, event: str, name: str) -> None:
        self._hold_still()
        getattr(self, f"_{event}")(name)

    def wait(self, seconds: float) -> None:
        self._hold_still()
        lost = self.lost if self.ageing_leases else ()
        self._do(time_shift.make_older(self.client, self.monitor, self._job_kinds(), lost, seconds))

    def leave(self, node: str, seconds: float) -> None:
        self._hold_still()
        self.unwell.add(node)
        self._annotate(NODES, node, "drain-deadline", format_time(time.time() + seconds))

    def notice(self, node: str, seconds: float) -> None:
        self._hold_still()
        self.unwell.add(node)
        now = time.time()
        self._annotate(NODES, node, "notice", format_notice(Notice(now + seconds, "azure", "Preempt", now)))

    def _withdraw(self, name: str) -> None:
        self._annotate(NODES, name, "notice", None)
        self.unwell.discard(name)

    def _hold_still(self) -> None:
        if not self.stopped:
            os.kill(self._control(), signal.SIGSTOP)
            self.stopped = True

    def _go_on(self) -> None:
        if self.stopped:
            os.kill(self._control(), signal.SIGCONT)
            self.stopped = False

    def _submit(self, name: str) -> None:
        """Later jobs queue behind earlier ones, even within one second."""
        self.submitted.add(name)
        for document in self.manifests[self.keys[name]]:
            meta = document["metadata"]
            notes = {f"{PREFIX}queued-at": format_time(time.time()), **meta.get("annotations", {})}
            self._do(self._create({**document, "metadata": {**meta, "annotations": notes}}))

    async def _create(self, *documents: Document) -> None:
        for document in documents:
            await self.client.create(msgspec.structs.replace(self._ref(resource_of(document), ""), name=""), document)

    def _delete(self, name: str) -> None:
        self.submitted.discard(name)
        for document in self.manifests[self.keys[name]]:
            ref = self._ref(resource_of(document), document["metadata"]["name"])
            self._do(self.client.delete(ref, propagation="Background"))

    def _checkpoint(self, name: str) -> None:
        for document in self.manifests[self.keys[name]]:
            self._annotate(resource_of(document), name, "last-checkpoint", format_time(time.time()))

    def _fail(self, name: str) -> None:
        """Writes down here that it failed: the loop needs some time, and then says the same."""
        self.lost.add(name)
        self._do(self._die(name))
        known = self._node(name)["metadata"].get("annotations", {}).get(f"{PREFIX}failed-at", "")
        self._annotate(NODES, name, "failed-at", f"{known},{format_time(time.time())}".strip(","))

    def _recover(self, name: str) -> None:
        self.lost.discard(name)
        self.unwell.discard(name)
        self._set_condition(name, "False")
        self._annotate(NODES, name, "drain-deadline", None)
        self._do(self._heal(name))

    def _suspect(self, name: str) -> None:
        self.unwell.add(name)
        self._set_condition(name, "True")

    def _set_condition(self, name: str, status: str) -> None:
        condition = {"type": "KubeletUnhealthy", "status": status, "lastTransitionTime": format_time(int(time.time()))}
        patch = {"status": {"conditions": [condition]}}
        self._do(self.client.patch(Ref(NODES, name=name), patch, sub="status"))

    def _cordon(self, name: str) -> None:
        self._do(self._patch(NODES, name, {"spec": {"unschedulable": True}}))

    def _uncordon(self, name: str) -> None:
        self._do(self._patch(NODES, name, {"spec": {"unschedulable": False}}))

    def _annotate(self, resource: Resource, name: str, note: str, value: str | None) -> None:
        self._do(self._patch(resource, name, {"metadata": {"annotations": {f"{PREFIX}{note}": value}}}))

    async def _patch(self, resource: Resource, name: str, patch: Document, sub: str = "") -> None:
        await self.client.patch(self._ref(resource, name), patch, sub=sub, form=PatchForm.MERGE)

    def _ref(self, resource: Resource, name: str) -> Ref:
        return Ref(resource, self.namespace if resource.namespaced else "", name)

    def _node(self, name: str) -> Document:
        found = self.monitor.find(NODES, name)
        assert found is not None
        return found

    # Until nothing changes

    def settle(self) -> None:
        self._go_on()
        self.went_on_at = time.monotonic()
        self._do(self._until_at_rest())
        self.told.read(self._log())
        self._check_at_rest()

    async def _until_at_rest(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while (stirring := await self._stirring()) is not None:
            if time.monotonic() > deadline:
                raise AssertionError(f"not at rest: {stirring}\n{self.monitor.picture()}")
            await asyncio.sleep(LOOK)

    async def _stirring(self) -> str | None:
        """What is still in progress."""
        if acting := await self._acting():
            return acting
        snapshot = self.monitor.snapshot()
        for name in self.lost:
            if snapshot.nodes[name].node.health.verdict is not Verdict.LOST:
                return f"{name} is not lost yet"
        if late := set(snapshot.unhealthy) - self.lost - self.unwell:
            return f"nothing was heard for a while of {', '.join(sorted(late))}"  # the machine is under load
        self.made = plan(snapshot, self.policy, time.time())
        busy = [describe(action) for action in self.made.actions if not isinstance(action, Wait)]
        busy += [why for gang in snapshot.gangs.values() if (why := self._unsettled(gang))]
        busy += [f"{name} has outlived its job" for name in self._orphans()]
        if not busy and time.monotonic() - max(self.monitor.stirred_at, self.went_on_at) < QUIET:
            return "something has just happened"
        return "; ".join(busy) or None

    def _orphans(self) -> list[str]:
        """Pods of deleted jobs go as well."""
        jobs = {job["metadata"]["uid"] for kind in self._job_kinds() for job in self.monitor.all(kind)}
        pods = self.monitor.all(PODS)
        owners = [(pod["metadata"]["name"], pod["metadata"].get("ownerReferences", ())) for pod in pods]
        kinds = {kind.kind for kind in self._job_kinds()}
        return [name for name, owned_by in owners for o in owned_by if o["kind"] in kinds and o["uid"] not in jobs]

    def _unsettled(self, gang: Gang) -> str:
        if gang.leaving and gang.name not in self.clinging:
            return f"{gang.title} is leaving"
        for member in gang.seated():
            pod = self.monitor.find(PODS, member.name, gang.namespace)
            if member.node not in self.lost and (pod is None or pod.get("status", {}).get("phase") != "Running"):
                return f"{member.name} does not run yet"
        return ""

    def _check_at_rest(self) -> None:
        snapshot = self.monitor.snapshot()
        nodes = {name: room.node for name, room in snapshot.nodes.items()}
        for gang in snapshot.gangs.values():
            whole = not gang.seated() or len(gang.seated()) >= gang.minimum
            assert whole or gang.holds, f"{gang.title} is partly seated"
            assert not (wrong := reference_rules.scattered(gang, nodes)), wrong

    # State

    def see(self) -> WorldState:
        snapshot = self.monitor.snapshot()
        ended = [name for name in self.submitted if self.keys[name] not in snapshot.gangs]
        return world_state(snapshot, self.made, self.told.history, ended)


def resource_of(document: Document) -> Resource:
    return KINDS[document["apiVersion"], document["kind"]]
