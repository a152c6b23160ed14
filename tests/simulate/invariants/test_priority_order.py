"""The judge of what could run at rest: it tries every way to seat a gang beside what is there."""

from msgspec.structs import replace

from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.context import SimulationContext
from understudy.simulate.event_loop import VirtualTimeLoop
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.invariants.priority_order import ORDER, PriorityOrder
from understudy.simulate.scenario import JobPlan, NodePlan, Scenario
from understudy.simulate.workloads import GangState, document_of, resource_of

NODES = tuple(NodePlan(name, place) for name, place in (("n0", "s0"), ("n1", "s0"), ("n2", "s1")))
WAITS = JobPlan("waits", "JobSet", size=2, accelerators=4, priority=10, topology="exclusive")


def verdict(waits: JobPlan = WAITS, dead: str = "", **held: tuple[int, str]) -> str:
    """What is said of a gang that waits; `held` has a priority and a node for each other gang of one pod."""
    others = [JobPlan(name, "Job", accelerators=4, priority=priority) for name, (priority, _) in held.items()]
    context = SimulationContext(Scenario(1, nodes=NODES, jobs=(waits, *others)), VirtualTimeLoop())
    cluster = SimulatedCluster(context)
    for kubelet in cluster.kubelets.values():
        kubelet.register()
    troubles, gangs = NodeTroubles(cluster), {plan.name: GangState(plan) for plan in (waits, *others)}
    if dead:
        cluster.kubelets[dead].power_off()
    for name, (_, node) in held.items():
        gangs[name].there, gangs[name].holds = True, {f"{name}-0": node}
    job = cluster.server.create(resource_of(waits), document_of(waits, "default-scheduler"), "user")
    PriorityOrder(cluster, troubles, gangs).check(gangs["waits"], job)
    context.loop.close()
    assert context.violation is None or context.violation.invariant == ORDER
    return context.violation.words if context.violation is not None else ""


def test_a_gang_that_fits_into_what_is_free_must_not_wait() -> None:
    assert verdict() == "JobSet/default/waits waits and fits into what is free"
    assert verdict(other=(30, "n2")) != ""


def test_a_gang_may_wait_for_seats_that_are_held_for_its_equals() -> None:
    assert verdict(other=(10, "n1")) == ""
    assert verdict(replace(WAITS, topology="required"), other=(10, "n1")) == ""


def test_a_less_important_gang_must_not_keep_what_a_more_important_one_needs() -> None:
    words = "JobSet/default/waits (10) waits, and would fit without Job/default/other"
    assert verdict(other=(0, "n1")) == words
    assert verdict(replace(WAITS, preempts=False), other=(0, "n1")) == ""


def test_an_exclusive_gang_needs_a_whole_slice_and_any_other_one_only_room() -> None:
    assert verdict(dead="n1") == ""
    assert verdict(replace(WAITS, topology=""), dead="n1") != ""
    assert verdict(replace(WAITS, topology="", size=3), dead="n1") == ""


def test_rules_about_spot_capacity_limit_where_a_gang_fits() -> None:
    loose = replace(WAITS, topology="", size=2)
    assert verdict(replace(loose, capacity="spot")) == ""
    assert verdict(replace(loose, capacity="on-demand")) != ""
    assert verdict(replace(loose, max_spot=0, one_kind=True)) != ""
