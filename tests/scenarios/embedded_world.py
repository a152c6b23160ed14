"""The third world: a cluster that really runs, with processes for pods. It is reached only through its API.

Nobody decides anything while a step happens: the control part is stopped until all of it has happened. Waiting takes no
time, since everything that is written down anywhere is made so much older instead.
"""

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from tests.decide import rules
from tests.embedded.real_cluster import KINDS, RealCluster, Setup, running
from tests.scenarios import ageing
from tests.scenarios.operators import Operators
from tests.scenarios.script import Document, Scenario
from tests.scenarios.snapshot_world import key_of
from tests.scenarios.worlds import History, Sight, Swapped, name_of, sight_of
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.decide.sentences import describe
from understudy.embedded.clusters.processes import CONTROL
from understudy.embedded.shim import orders
from understudy.embedded.shim.orders import State
from understudy.kinds.annotations import PREFIX, WARM_FOR, written_time
from understudy.kinds.children import FAMILIES
from understudy.model.gangs import Gang
from understudy.model.nodes import Verdict
from understudy.model.plans import Plan, Wait
from understudy.objects.resources import LEASES, NODES, PODS, Resource
from understudy.ports import PatchForm, Ref

Result = TypeVar("Result")

QUIET = 0.2  # seconds in which nothing happens where nothing is left to do
LOOK = 0.03
PATIENCE = 90.0
SILENCE = 60.0  # seconds for which nothing was heard of a node that is lost
OWN_KINDS = {family.parent.kind for family in FAMILIES}
# Stays until it is told to go, and longer if it clings: until the file it is given the name of is taken away.
PROGRAM = """sleep 1000000 & trap 'kill $!; while [ -e "$0" ]; do sleep 0.05; done; exit 0' TERM; wait"""

_ACTION = re.compile(r" INFO understudy\.control\.scheduling: (?P<what>.*)")
_PREEMPTED = re.compile(r"(?:preempt|take .+ from) (\S+)(?: \(\d+ pods?\))? for (\S+): ")
_SWAPPED = re.compile(r"swap (\S+): (.*)")
_MOVE = re.compile(r"(\S+) (?:\(no seat\)|\S+) -> (\S+) \((\w+)\)")


# What cannot be played here, and why.


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
    """Why a scenario cannot be played in this world; nothing, where it can."""
    return "; ".join(words for is_in_the_way, words in OBSTACLES if is_in_the_way(scenario))


class EmbeddedWorld:
    """To be used with `with`: the cluster runs in between."""

    def __init__(self, scenario: Scenario, path: Path) -> None:
        self.scenario = scenario
        self.policy = msgspec.convert(scenario.policy, Policy)
        self.path = path
        self.manifests: dict[str, list[Document]] = {}
        for document in scenario.manifests():
            self.manifests.setdefault(key_of(document), []).append(self._runnable(document))
        self.keys = {name_of(key): key for key in self.manifests}
        kinds = {document["kind"]: _resource(document) for document in scenario.manifests()}
        self.strange_kinds = tuple(kind for name, kind in kinds.items() if name not in (*OWN_KINDS, "Pod"))
        self.submitted: set[str] = set()
        self.clinging: set[str] = set()
        self.lost: set[str] = set()
        self.unwell: set[str] = set()  # doubted, or about to leave
        self.history = History()
        self.read = 0  # how many lines of the log were looked at
        self.made = Plan()  # what would be done now
        self.stopped = False
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.context = self._started()
        try:
            self.cluster: RealCluster = self._do(self.context.__aenter__())
        except BaseException:
            self.runner.close()
            raise
        self.operators = Operators(self.cluster, self.strange_kinds)
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

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[RealCluster]:
        setup = Setup(kinds=self.strange_kinds, policy=self.policy)
        async with running(self.path, list(map(_registered, self.scenario.nodes())), setup) as cluster:
            await cluster.create(*self.scenario.priority_classes(), *self.scenario.budgets)
            yield cluster

    def _do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(work)

    # What happens

    def happen(self, event: str, name: str) -> None:
        self._hold_still()
        getattr(self, f"_{event}")(name)

    def wait(self, seconds: float) -> None:
        self._hold_still()
        self._do(ageing.make_older(self.cluster, self._job_kinds(), self.lost, seconds))

    def leave(self, node: str, seconds: float) -> None:
        self._hold_still()
        self.unwell.add(node)
        self._annotate(NODES, node, "drain-deadline", written_time(time.time() + seconds))

    def _hold_still(self) -> None:
        if not self.stopped:
            os.kill(self.cluster.process(CONTROL), signal.SIGSTOP)
            self.stopped = True

    def _go_on(self) -> None:
        if self.stopped:
            os.kill(self.cluster.process(CONTROL), signal.SIGCONT)
            self.stopped = False

    def _submit(self, name: str) -> None:
        """Whoever comes later queues behind, also within a second."""
        self.submitted.add(name)
        for document in self.manifests[self.keys[name]]:
            meta = document["metadata"]
            notes = {f"{PREFIX}queued-at": written_time(time.time()), **meta.get("annotations", {})}
            self._do(self.cluster.create({**document, "metadata": {**meta, "annotations": notes}}))

    def _delete(self, name: str) -> None:
        self.submitted.discard(name)
        for document in self.manifests[self.keys[name]]:
            self._do(self.cluster.delete(_resource(document), document["metadata"]["name"], propagation="Background"))

    def _checkpoint(self, name: str) -> None:
        for document in self.manifests[self.keys[name]]:
            self._annotate(_resource(document), name, "last-checkpoint", written_time(time.time()))

    def _crash(self, name: str) -> None:
        """The processes of all its pods are killed, and its pods are seen to have failed."""
        pods = {pod["metadata"]["uid"] for pod in self.cluster.witness.pods_of(name)}
        for uid in pods:
            for path in self.cluster.folder.pods.glob(f"{uid}/containers/*/*/state.json"):
                state = orders.read(path, State)
                assert state is not None
                os.kill(state.pid, signal.SIGKILL)
        self._do(self.cluster.witness.until(f"{name} has failed", lambda: self._have_failed(pods)))

    def _have_failed(self, uids: set[str]) -> bool:
        pods = [pod for pod in self.cluster.witness.all(PODS) if pod["metadata"]["uid"] in uids]
        return all(pod.get("status", {}).get("phase") == "Failed" for pod in pods)

    def _cling(self, name: str) -> None:
        self.clinging.add(name)
        self._file_of(name).touch()

    def _let_go(self, name: str) -> None:
        self.clinging.discard(name)
        self._file_of(name).unlink()

    def _fail(self, name: str) -> None:
        """That it failed is written down here as well: the loop takes its time, and then says the same."""
        self.lost.add(name)
        self._do(self.cluster.fail(name))
        self._do(self._silence(name))
        known = self._node(name)["metadata"].get("annotations", {}).get(f"{PREFIX}failed-at", "")
        self._annotate(NODES, name, "failed-at", f"{known},{written_time(time.time())}".strip(","))

    async def _silence(self, name: str) -> None:
        """As if nothing had been heard of the node for a while; nothing will be from now on."""
        renewed = written_time(time.time() - SILENCE)
        ref = Ref(LEASES, "kube-node-lease", name)
        await self.cluster.client.patch(ref, {"spec": {"renewTime": renewed}}, form=PatchForm.MERGE)

    def _recover(self, name: str) -> None:
        self.lost.discard(name)
        self.unwell.discard(name)
        self._set_condition(name, "False")
        self._annotate(NODES, name, "drain-deadline", None)
        self._do(self._heal(name))

    async def _heal(self, name: str) -> None:
        """Whoever marked the node as unreachable is held still, and could unmark it only when the step is over."""
        witness = self.cluster.witness
        await self.cluster.recover(name)
        await self.cluster.patch(NODES, name, {"spec": {"taints": self._own_taints(name)}})
        await witness.until(f"{name} is well", lambda: name not in witness.snapshot().sick)

    def _own_taints(self, name: str) -> list[Document]:
        return next(node["spec"]["taints"] for node in self.scenario.nodes() if node["metadata"]["name"] == name)

    def _suspect(self, name: str) -> None:
        self.unwell.add(name)
        self._set_condition(name, "True")

    def _set_condition(self, name: str, status: str) -> None:
        condition = {"type": "KubeletUnhealthy", "status": status, "lastTransitionTime": written_time(int(time.time()))}
        patch = {"status": {"conditions": [condition]}}
        self._do(self.cluster.client.patch(Ref(NODES, name=name), patch, sub="status"))

    def _cordon(self, name: str) -> None:
        self._do(self.cluster.cordon(name))

    def _uncordon(self, name: str) -> None:
        self._do(self.cluster.cordon(name, False))

    def _annotate(self, resource: Resource, name: str, note: str, value: str | None) -> None:
        self._do(self.cluster.patch(resource, name, {"metadata": {"annotations": {f"{PREFIX}{note}": value}}}))

    def _node(self, name: str) -> Document:
        found = self.cluster.witness.find(NODES, name)
        assert found is not None
        return found

    def _job_kinds(self) -> tuple[Resource, ...]:
        return (*(family.parent for family in FAMILIES), *self.strange_kinds)

    def _file_of(self, job: str) -> Path:
        return self.path / f"{job} clings"

    def _runnable(self, document: Document) -> Document:
        """With containers that run a small program in place of their own."""
        program = ["sh", "-c", PROGRAM, str(self._file_of(name_of(key_of(document))))]
        made: Document = _with_containers(document, {"command": program})
        roles = made.get("spec", {}).get("mpiReplicaSpecs", {})
        if "Launcher" in roles:  # notices when its workers are gone
            roles["Launcher"] = _with_containers(roles["Launcher"], {"command": ["mpirun", *program]})
        return made

    # Until nothing changes

    def settle(self) -> None:
        self._go_on()
        self._do(self._until_at_rest())
        for line in self.cluster.log_of(CONTROL)[self.read :]:
            self.read += 1
            if (found := _ACTION.search(line)) is not None:
                self._remember(found["what"])
        self._check_at_rest()

    async def _until_at_rest(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while (stirring := await self._stirring()) is not None:
            if time.monotonic() > deadline:
                raise AssertionError(f"not at rest: {stirring}\n{self.cluster.witness.picture()}")
            await asyncio.sleep(LOOK)

    async def _stirring(self) -> str | None:
        """What is still going on."""
        witness = self.cluster.witness
        if await self.operators.act():
            return "operators act"
        snapshot = witness.snapshot()
        for name in self.lost:
            if snapshot.rooms[name].node.health.verdict is not Verdict.LOST:
                await self._silence(name)  # it was being heard of when it failed
                return f"{name} is not lost yet"
        if late := set(snapshot.sick) - self.lost - self.unwell:
            return f"nothing was heard for a while of {', '.join(sorted(late))}"  # this machine has a lot to do
        self.made = plan(snapshot, self.policy, time.time())
        busy = [describe(action) for action in self.made.actions if not isinstance(action, Wait)]
        busy += [why for gang in snapshot.gangs.values() if (why := self._unsettled(gang))]
        busy += [f"{name} has outlived its job" for name in self._orphans()]
        if not busy and time.monotonic() - witness.stirred_at < QUIET:
            return "something has just happened"
        return "; ".join(busy) or None

    def _orphans(self) -> list[str]:
        """Pods whose job is gone go as well."""
        witness = self.cluster.witness
        jobs = {job["metadata"]["uid"] for kind in self._job_kinds() for job in witness.all(kind)}
        owners = [(pod["metadata"]["name"], pod["metadata"].get("ownerReferences", ())) for pod in witness.all(PODS)]
        kinds = {kind.kind for kind in self._job_kinds()}
        return [name for name, owned_by in owners for o in owned_by if o["kind"] in kinds and o["uid"] not in jobs]

    def _unsettled(self, gang: Gang) -> str:
        if gang.leaving and gang.name not in self.clinging:
            return f"{gang.title} is leaving"
        for member in gang.seated():
            pod = self.cluster.witness.find(PODS, member.name, gang.namespace)
            if member.node not in self.lost and (pod is None or pod.get("status", {}).get("phase") != "Running"):
                return f"{member.name} does not run yet"
        return ""

    def _remember(self, told: str) -> None:
        """An action of the plans that were carried out, as the log tells it."""
        if (found := _PREEMPTED.match(told)) is not None:
            self.history.victims.append((name_of(found[1]), name_of(found[2])))
        elif (found := _SWAPPED.match(told)) is not None:
            for move in _MOVE.findall(found[2]):
                self._remember_swap(name_of(found[1]), *move)

    def _remember_swap(self, job: str, pod: str, node: str, source: str) -> None:
        """A move goes on over several plans: the pod goes, another comes and is bound."""
        place = self.cluster.witness.places.get(pod, pod)
        if not any((s.job, s.member, s.to_node) == (job, place, node) for s in self.history.swaps):
            self.history.swaps.append(Swapped(job, place, node, source))

    def _check_at_rest(self) -> None:
        snapshot = self.cluster.witness.snapshot()
        nodes = {name: room.node for name, room in snapshot.rooms.items()}
        for gang in snapshot.gangs.values():
            whole = not gang.seated() or len(gang.seated()) >= gang.minimum
            assert whole or gang.holds, f"{gang.title} is partly seated"
            assert not (wrong := rules.scattered(gang, nodes)), wrong

    # What can be seen

    def see(self) -> Sight:
        snapshot = self.cluster.witness.snapshot()
        ended = [name for name in self.submitted if self.keys[name] not in snapshot.gangs]
        return sight_of(snapshot, self.made, self.history, ended)


def _registered(node: Document) -> Document:
    """As the agent is to know it: it says itself how the node is doing."""
    offers = {name: str(amount) for name, amount in node["status"]["allocatable"].items()}
    return {**node, "status": {"capacity": offers, "allocatable": offers}}


def _resource(document: Document) -> Resource:
    return KINDS[document["apiVersion"], document["kind"]]


def _with_containers(value: Any, program: Document) -> Any:
    """The same with this program, which needs no files, in every container of every pod template."""
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
