"""The second world: objects in a fake cluster, the real scheduling loop on top, and hands that play the controllers.

What the loop sees is checked by tests.decide.reference_rules at every plan.
"""

import asyncio
import itertools
from types import TracebackType
from typing import Any, Self

import msgspec

from tests.control.loop_harness import LoopHarness
from tests.decide import reference_rules
from tests.scenarios.incident_rules import wrong_incidents
from tests.scenarios.scenario_file import Document, Scenario
from tests.scenarios.snapshot_world import key_of
from tests.scenarios.worlds import History, Swapped, WorldState, place_of, world_state
from understudy.control.loop import Cycle, LoopSettings
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.kinds.annotations import NOTICE, PREFIX, format_notice, format_time
from understudy.kinds.registry import JOB_RESOURCES
from understudy.model.gangs import Gang
from understudy.model.nodes import Notice
from understudy.model.plans import Plan, Preempt, Swap
from understudy.model.snapshot import Snapshot
from understudy.objects.resources import INCIDENTS, NODES

READY = {"type": "Ready", "status": "True"}


class LoopWorld:
    """A context manager: the loop runs inside."""

    def __init__(self, scenario: Scenario) -> None:
        policy = msgspec.convert(scenario.policy, Policy)
        self.living = LoopHarness(LoopSettings(policy))
        self.cluster = self.living.cluster
        self.boots = itertools.count(1)
        surroundings = (*scenario.priority_classes(), *scenario.budgets, *scenario.bound_claims())
        for document in (*scenario.nodes(), *surroundings):
            self.cluster.put(document)
        for document in self.cluster.all(NODES):
            self._boot(document)
        self.manifests: dict[str, list[Document]] = {}
        for document in scenario.manifests():
            self.manifests.setdefault(key_of(document), []).append(document)
        self.keys = {key.rpartition("/")[2]: key for key in self.manifests}
        self.submitted: set[str] = set()
        self.victims: list[tuple[str, str]] = []
        self.swaps: list[Swapped] = []
        self.remembered = 0  # cycles of the loop that were read
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self.context = self.living.running()
        self.runner.run(self.context.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.runner.run(self.context.__aexit__(kind, error, trace))
        self.runner.close()

    # Events

    def happen(self, event: str, name: str) -> None:
        getattr(self, f"_{event}")(name)

    def wait(self, seconds: float) -> None:
        self.runner.run(self.living.clock.let_pass(seconds))

    def leave(self, node: str, seconds: float) -> None:
        deadline = format_time(self.living.clock.now() + seconds)
        self._change_node(node, annotations={f"{PREFIX}drain-deadline": deadline})

    def notice(self, node: str, seconds: float) -> None:
        now = self.living.clock.now()
        self._change_node(node, annotations={NOTICE: format_notice(Notice(now + seconds, "azure", "Preempt", now))})

    def _withdraw(self, name: str) -> None:
        self.cluster.find(NODES, name)["metadata"]["annotations"].pop(NOTICE)
        self._change_node(name)

    def _submit(self, name: str) -> None:
        self.living.clock.jump(1.0)
        self.submitted.add(name)
        for document in self.manifests[self.keys[name]]:
            self.cluster.put(msgspec.json.decode(msgspec.json.encode(document)))

    def _delete(self, name: str) -> None:
        self.submitted.discard(name)
        for document in self._objects(name):
            self.cluster.take_away(document)

    def _checkpoint(self, name: str) -> None:
        for document in self._objects(name):
            self._annotate(document, "last-checkpoint", format_time(self.living.clock.now()))

    def _crash(self, name: str) -> None:
        """Its pods have failed and are deleted; its owner creates new ones."""
        for pod in list(self.living.hands.pods_of(self.keys[name])):
            pod["status"]["phase"] = "Failed"
            self.cluster.change(pod)
            self.cluster.take_away(pod)

    def _cling(self, name: str) -> None:
        self.living.hands.clinging.add(self.keys[name])

    def _let_go(self, name: str) -> None:
        self.living.hands.clinging.discard(self.keys[name])

    def _fail(self, name: str) -> None:
        now = format_time(self.living.clock.now())
        died = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
        self._change_node(name, [died])

    def _recover(self, name: str) -> None:
        self.cluster.find(NODES, name)["metadata"].get("annotations", {}).pop(f"{PREFIX}drain-deadline", None)
        self._boot(self.cluster.find(NODES, name))
        self._change_node(name, [READY])

    def _boot(self, node: Document) -> None:
        """A node that recovers has rebooted: nothing runs there any more."""
        node.setdefault("status", {})["nodeInfo"] = {"bootID": f"boot-{next(self.boots)}"}

    def _suspect(self, name: str) -> None:
        now = format_time(self.living.clock.now())
        unwell = {"type": "KubeletUnhealthy", "status": "True", "lastTransitionTime": now}
        self._change_node(name, [READY, unwell])

    def _cordon(self, name: str) -> None:
        self._change_node(name, unschedulable=True)

    def _uncordon(self, name: str) -> None:
        self._change_node(name, unschedulable=False)

    def _change_node(
        self, name: str, conditions: list[Document] | None = None, annotations: Document | None = None, **spec: Any
    ) -> None:
        node = self.cluster.find(NODES, name)
        if conditions is not None:
            node["status"]["conditions"] = conditions
        node["metadata"].setdefault("annotations", {}).update(annotations or {})
        node["spec"].update(spec)
        self.cluster.change(node)

    def _annotate(self, document: Document, name: str, value: str) -> None:
        document["metadata"].setdefault("annotations", {})[f"{PREFIX}{name}"] = value
        self.cluster.change(document)

    def _objects(self, name: str) -> list[Document]:
        """The job, or its pods."""
        kind = self.keys[name].partition("/")[0]
        jobs = [job for resource in JOB_RESOURCES for job in self.cluster.all(resource)]
        found = [job for job in jobs if job["kind"] == kind and job["metadata"]["name"] == name]
        return found or list(self.living.hands.pods_of(self.keys[name]))

    # Until nothing changes

    def settle(self) -> None:
        self.runner.run(self.living.settle())
        for cycle in self.living.cycles[self.remembered :]:
            self._remember(cycle)
        self.remembered = len(self.living.cycles)
        self._check_at_rest()

    def _remember(self, cycle: Cycle) -> None:
        board = reference_rules.board_of(cycle.snapshot)
        wrong = reference_rules.overfull(board) + reference_rules.conflicts(board)
        wrong += [
            words for gang in cycle.snapshot.gangs.values() for words in reference_rules.scattered(gang, board.nodes)
        ]
        assert not wrong, wrong
        for action in cycle.done:
            match action:
                case Preempt():
                    victim, preemptor = cycle.snapshot.gangs[action.gang], cycle.snapshot.gangs[action.by]
                    assert victim.priority < preemptor.priority, f"{describe(action)}: its priority is not lower"
                    self.victims.append((victim.name, preemptor.name))
                case Swap():
                    self._remember_swap(cycle.snapshot.gangs[action.gang], action)
                case _:
                    pass

    def _remember_swap(self, gang: Gang, swap: Swap) -> None:
        """A move spans several plans: the pod goes, another comes and is bound."""
        for move in swap.moves:
            place = place_of(gang, move.member)
            last = next((s for s in reversed(self.swaps) if (s.job, s.member) == (gang.name, place)), None)
            if last is None or last.to_node != move.to_node or (move.from_node and move.from_node == self._left(last)):
                self.swaps.append(Swapped(gang.name, place, move.to_node, move.source))

    def _left(self, last: Swapped) -> str:
        return last.to_node

    def _check_at_rest(self) -> None:
        for gang in self._snapshot().gangs.values():
            whole = not gang.seated() or len(gang.seated()) >= gang.minimum
            assert whole or gang.holds, f"{gang.title} is partly seated"
        wrong = list(wrong_incidents(self.cluster.all(INCIDENTS), self._snapshot()))
        assert not wrong, wrong

    # State

    def _snapshot(self) -> Snapshot:
        return self.living.loop.view.snapshot(self.living.clock.now())

    def see(self) -> WorldState:
        snapshot = self._snapshot()
        made = self.living.cycles[-1].plan if self.living.cycles else Plan()  # the last plan has the reasons
        ended = [name for name in self.submitted if self.keys[name] not in snapshot.gangs]
        return world_state(snapshot, made, History(self.victims, self.swaps), ended)
