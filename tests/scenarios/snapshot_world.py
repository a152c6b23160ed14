"""The plainest world: a snapshot that every plan turns into the next one. Nothing runs; the clock is a number.

After every plan the rules are checked by tests.decide.reference_rules, which shares no code with the planner.
"""

from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from tests.control.fake_controllers import group_key
from tests.decide import reference_rules
from tests.scenarios.scenario_file import Document, Scenario
from tests.scenarios.worlds import Swapped, Waiting, WorldState, all_are_asked
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after
from understudy.kinds.decoding import decode
from understudy.kinds.ownership import owner_of
from understudy.kinds.pod_groups.definition import POD_GROUP
from understudy.kinds.registry import KINDS
from understudy.model.gangs import Gang
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.plans import Plan, Preempt, Swap, Wait
from understudy.model.snapshot import Budget, Snapshot
from understudy.objects.cluster_objects import PodDisruptionBudget
from understudy.objects.pods import Pod
from understudy.objects.selectors import selector_of

BEGIN = 1_767_225_600.0  # the first second of 2026
MOST_PLANS = 30  # a world that is not at rest by then never will be


class SnapshotWorld:
    def __init__(self, scenario: Scenario) -> None:
        self.now = BEGIN
        self.policy = msgspec.convert(scenario.policy, Policy)
        self.view = ClusterView()
        for document in (*scenario.nodes(), *scenario.priority_classes()):
            self.view.put(decode(document))
        self.budgets = [b for b in map(decode, scenario.budgets) if isinstance(b, PodDisruptionBudget)]
        self.manifests: dict[str, list[Document]] = {}
        for document in scenario.manifests():
            self.manifests.setdefault(key_of(document), []).append(document)
        self.keys = {key.rpartition("/")[2]: key for key in self.manifests}
        self.snapshot = self.view.snapshot(self.now)
        self.clinging: set[str] = set()
        self.ended: set[str] = set()
        self.waiting: dict[str, Waiting] = {}
        self.victims: list[tuple[str, str]] = []
        self.swaps: list[Swapped] = []
        self.plans = 0

    # Events

    def happen(self, event: str, name: str) -> None:
        getattr(self, f"_{event}")(name)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def leave(self, node: str, seconds: float) -> None:
        self._judge(node, Health(Verdict.LEAVING, "maintenance", self.now, self.now + seconds))

    def notice(self, node: str, seconds: float) -> None:
        self._judge(node, Health(Verdict.LEAVING, "notice", self.now, self.now + seconds))

    def _withdraw(self, name: str) -> None:
        self._judge(name, Health())

    def _submit(self, name: str) -> None:
        self.now += 1.0
        key = self.keys[name]
        for document in self.manifests[key]:
            stamp = datetime.fromtimestamp(self.now, UTC).isoformat()
            meta = {"creationTimestamp": stamp, **document["metadata"]}
            self.view.put(decode({**document, "metadata": meta}))
        self._become(self.view.snapshot(self.now).gangs[key])

    def _delete(self, name: str) -> None:
        self.snapshot = self.snapshot.updated(gone_gangs=[self.keys[name]])

    def _checkpoint(self, name: str) -> None:
        self._become(replace(self._gang(name), checkpoint_at=self.now))

    def _crash(self, name: str) -> None:
        """Its pods are gone; its owner creates new ones."""
        gang = self._gang(name)
        emptied = gang.reseated(dict.fromkeys((m.name for m in gang.members()), ""))
        self._become(replace(emptied, failures=(*gang.failures, self.now)))

    def _cling(self, name: str) -> None:
        self.clinging.add(self.keys[name])

    def _let_go(self, name: str) -> None:
        self.clinging.discard(self.keys[name])

    def _fail(self, name: str) -> None:
        node = self._judge(name, Health(Verdict.LOST, "it died", self.now))
        self.snapshot = self.snapshot.updated(nodes=[replace(node, failures=(*node.failures, self.now))])

    def _recover(self, name: str) -> None:
        self._judge(name, Health())

    def _suspect(self, name: str) -> None:
        self._judge(name, Health(Verdict.SUSPECT, "it is silent", self.now))

    def _cordon(self, name: str) -> None:
        self.snapshot = self.snapshot.updated(nodes=[replace(self.snapshot.nodes[name].node, unschedulable=True)])

    def _uncordon(self, name: str) -> None:
        self.snapshot = self.snapshot.updated(nodes=[replace(self.snapshot.nodes[name].node, unschedulable=False)])

    def _judge(self, name: str, health: Health) -> Node:
        node = replace(self.snapshot.nodes[name].node, health=health)
        self.snapshot = self.snapshot.updated(nodes=[node])
        return node

    def _gang(self, name: str) -> Gang:
        return self.snapshot.gangs[self.keys[name]]

    def _become(self, gang: Gang) -> None:
        self.snapshot = self.snapshot.updated(gangs=[gang])

    # Until nothing changes

    def settle(self) -> None:
        for _ in range(MOST_PLANS):
            self._keep_time()
            made = plan(self.snapshot, self.policy, self.now)
            self._remember(made)
            before, self.snapshot = self.snapshot, snapshot_after(self.snapshot, made)
            self._check(before)
            left = self._let_leave()
            self._check(before)
            if not left and all(isinstance(action, Wait) for action in made.actions):
                self._check_at_rest()
                return
        raise AssertionError(f"not at rest after {MOST_PLANS} plans: {list(map(describe, made.actions))}")

    def _remember(self, made: Plan) -> None:
        self.plans += any(not isinstance(action, Wait) for action in made.actions)
        self.waiting = {}
        for action in made.actions:
            match action:
                case Wait(key, reason):
                    holders = ", ".join(f"{h.gang} {h.keeps}" for h in reason.holders)
                    self.waiting[_name(key)] = Waiting(reason.code, f"{describe(action)}; {holders}")
                case Preempt():
                    self._remember_preemption(action)
                case Swap(key, moves):
                    swaps = [Swapped(_name(key), m.member, m.to_node, m.source) for m in moves]
                    known = {(s.member, s.to_node) for s in self.swaps if s.source == "victim"}
                    self.swaps += [s for s in swaps if (s.member, s.to_node) not in known]

    def _remember_preemption(self, action: Preempt) -> None:
        victim, preemptor = self.snapshot.gangs[action.gang], self.snapshot.gangs[action.by]
        assert victim.priority < preemptor.priority, f"{describe(action)}: its priority is not lower"
        self.victims.append((victim.name, preemptor.name))
        if self.now not in preemptor.preempted_for_it:
            self._become(replace(preemptor, preempted_for_it=(*preemptor.preempted_for_it, self.now)))

    def _let_leave(self) -> bool:
        """Deletes terminating pods and ended gangs."""
        going = [g for g in self.snapshot.gangs.values() if g.leaving and g.key not in self.clinging]
        over = [g.key for g in self.snapshot.gangs.values() if not g.size and (g in going or not g.leaving)]
        self.snapshot = self.snapshot.updated(gangs=[replace(g, leaving=()) for g in going])
        self.snapshot = self.snapshot.updated(gone_gangs=over)
        self.ended.update(map(_name, over))
        return bool(going)

    def _keep_time(self) -> None:
        """Gangs run since they got seats; budgets count pods with seats."""
        for gang in list(self.snapshot.gangs.values()):
            seated = bool(gang.seated())
            if seated != (gang.started_at is not None):
                self._become(replace(gang, started_at=self.now if seated else None))
        self.snapshot = replace(self.snapshot, budgets=tuple(_counted(b, self.snapshot) for b in self.budgets))

    def _check(self, before: Snapshot) -> None:
        board = reference_rules.board_of(self.snapshot, origin=before)
        wrong = reference_rules.overfull(board) + reference_rules.conflicts(board)
        wrong += [
            words for gang in self.snapshot.gangs.values() for words in reference_rules.scattered(gang, board.nodes)
        ]
        assert not wrong, wrong

    def _check_at_rest(self) -> None:
        """Only a gang that lost seats and waits for held ones may be partly seated."""
        for gang in self.snapshot.gangs.values():
            whole = not gang.seated() or len(gang.seated()) >= gang.minimum
            assert whole or gang.holds, f"{gang.title} is partly seated"

    # State

    def see(self) -> WorldState:
        gangs = self.snapshot.gangs.values()
        return WorldState(
            seats={gang.name: {m.name: m.node for m in gang.seated()} for gang in gangs},
            least={gang.name: gang.minimum for gang in gangs},
            holds={gang.name: dict(gang.holds) for gang in gangs},
            waiting=self.waiting,
            ended=frozenset(self.ended),
            labels={name: dict(room.node.labels) for name, room in self.snapshot.nodes.items()},
            victims=tuple(self.victims),
            swaps=tuple(self.swaps),
            plans=self.plans,
            asked=frozenset(gang.name for gang in gangs if all_are_asked(gang)),
        )


def key_of(document: Document) -> str:
    """The gang a manifest belongs to."""
    obj = decode(document)
    if isinstance(obj, Pod):
        return group_key(obj) or owner_of(obj).key
    assert obj.kind in (*KINDS, POD_GROUP), f"{obj.title} is no job"
    return f"{obj.kind}/{obj.metadata.namespace}/{obj.metadata.name}"


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _counted(budget: PodDisruptionBudget, snapshot: Snapshot) -> Budget:
    """The budget with what its controller would allow now."""
    meta, spec = budget.metadata, budget.spec
    counted = Budget(meta.name, meta.namespace, selector_of(spec.selector), 0)
    covered = [m for gang in snapshot.gangs.values() for m in gang.members() if counted.covers(gang, m)]
    healthy = sum(1 for m in covered if m.node)
    least = spec.min_available if spec.max_unavailable is None else len(covered) - int(spec.max_unavailable)
    return replace(counted, allowed=max(0, healthy - int(least or 0)))
