"""What pods on other nodes say agrees with kube-scheduler: affinity, anti-affinity in both directions, spreading."""

from typing import Any

import pytest

from tests.decide.builders import HOST, cluster, node, planned, queued, running, seats, shape, tainted
from understudy.decide.placement.pod_affinity import PodAffinity
from understudy.model.gangs import Gang, PodTerm, Shape, SpreadConstraint
from understudy.model.nodes import NO_SCHEDULE, Node, Taint
from understudy.model.selectors import NodeTerm, Requirement, Selector

ZONE = "zone"
ZONES = [
    node("a1", labels={ZONE: "a"}),
    node("a2", labels={ZONE: "a"}),
    node("b1", labels={ZONE: "b"}),
    node("nowhere"),
]


def app(*names: str) -> Selector:
    return Selector((Requirement("app", "In", names),))


def to(*names: str, key: str = ZONE, namespaces: tuple[str, ...] = ("default",), everywhere: bool = False) -> PodTerm:
    return PodTerm(key, app(*names), namespaces, everywhere)


def pod(name: str, on: str, labels: str = "", asks: Shape | None = None, namespace: str = "default") -> Gang:
    return running(name, on=on, asks=asks or shape(gpus=1), labels={"app": labels or name}, namespace=namespace)


def welcome(newcomer: Gang, *others: Gang, where: list[Node] = ZONES) -> str:
    """The nodes whose neighbourhood takes the first member of a gang, each asked alone."""
    state = cluster(where, newcomer, *others)
    around = PodAffinity(state, newcomer, lambda _: False)
    [member, *_] = newcomer.members()
    return " ".join(n.name for n in where if around.refusal(member, state.nodes[n.name].node) is None)


def wanting(*terms: PodTerm, app: str = "new") -> Gang:
    return queued("new", asks=shape(gpus=1, affinity=terms), labels={"app": app})


def fleeing(*terms: PodTerm) -> Gang:
    return queued("new", asks=shape(gpus=1, anti_affinity=terms), labels={"app": "new"})


# Affinity


@pytest.mark.parametrize(
    ("terms", "others", "expected"),
    [
        pytest.param((to("db"),), [pod("db", "a1")], "a1 a2", id="where the other is"),
        pytest.param((to("db", key=HOST),), [pod("db", "a1")], "a1", id="on the same host"),
        pytest.param((to("db"),), [pod("db", "a1"), pod("db2", "b1", "db")], "a1 a2 b1", id="where any other is"),
        pytest.param((to("db"),), [], "", id="no pod to join"),
        pytest.param((to("db"),), [pod("db", "nowhere")], "", id="the other's node has no such label"),
        pytest.param((to("db"),), [pod("db", "a1", namespace="prod")], "", id="another namespace"),
        pytest.param((to("db", namespaces=("prod",)),), [pod("db", "a1", namespace="prod")], "a1 a2", id="a named one"),
        pytest.param((to("db", everywhere=True),), [pod("db", "a1", namespace="prod")], "a1 a2", id="any namespace"),
        pytest.param((PodTerm(ZONE, None, ("default",)),), [pod("db", "a1")], "", id="no selector matches no pod"),
        pytest.param(
            (PodTerm(ZONE, Selector(), ("default",)),), [pod("db", "a1")], "a1 a2", id="an empty one every pod"
        ),
    ],
)
def test_affinity(terms: tuple[PodTerm, ...], others: list[Gang], expected: str) -> None:
    assert welcome(wanting(*terms), *others) == expected


@pytest.mark.parametrize(
    ("terms", "others", "expected"),
    [
        pytest.param((to("new"),), [], "a1 a2 b1", id="the first of a group, where the label is"),
        pytest.param((to("new"),), [pod("old", "b1", "new")], "b1", id="not the first"),
        pytest.param((to("new"), to("db")), [], "", id="first, but another term asks for another pod"),
        pytest.param((to("new"), to("new", key=HOST)), [], "a1 a2 b1", id="first by every term"),
        pytest.param((to("new", namespaces=("prod",)),), [], "", id="its own namespace is not meant"),
    ],
)
def test_the_first_of_a_group_may_start_it(terms: tuple[PodTerm, ...], others: list[Gang], expected: str) -> None:
    assert welcome(wanting(*terms), *others) == expected


def test_one_pod_has_to_match_every_term() -> None:
    """Two pods that match one term each are not a pod that matches both."""
    both = (
        PodTerm(ZONE, app("db"), ("default",)),
        PodTerm(ZONE, Selector((Requirement("tier", "Exists"),)), ("default",)),
    )
    labelled = running("db", on="a1", gpus=1, labels={"app": "db", "tier": "1"})
    apart = [pod("db", "b1"), running("other", on="b1", gpus=1, labels={"tier": "1"})]
    assert welcome(wanting(*both), labelled) == "a1 a2"
    assert welcome(wanting(*both), *apart) == ""


def test_members_of_a_gang_find_each_other() -> None:
    asks = shape(affinity=(to("gang"),))
    made = planned(ZONES, queued("gang", members=2, asks=asks, labels={"app": "gang"}))
    assert sorted(seats(made).values()) == ["a1", "a2"]
    assert seats(planned(ZONES, queued("gang", members=3, asks=asks, labels={"app": "gang"}))) == {}


# Anti-affinity


@pytest.mark.parametrize(
    ("terms", "others", "expected"),
    [
        pytest.param((to("db"),), [pod("db", "a1")], "b1 nowhere", id="not in the zone of the other"),
        pytest.param((to("db", key=HOST),), [pod("db", "a1")], "a2 b1 nowhere", id="not on its host"),
        pytest.param((to("db"),), [pod("db", "nowhere")], "a1 a2 b1 nowhere", id="a node without the label is no zone"),
        pytest.param((to("db"),), [pod("db", "a1", namespace="prod")], "a1 a2 b1 nowhere", id="another namespace"),
        pytest.param(
            (to("db", everywhere=True),), [pod("db", "a1", namespace="prod")], "b1 nowhere", id="any namespace"
        ),
        pytest.param((to("db"), to("web")), [pod("db", "a1"), pod("web", "b1")], "nowhere", id="each term repels"),
    ],
)
def test_anti_affinity(terms: tuple[PodTerm, ...], others: list[Gang], expected: str) -> None:
    assert welcome(fleeing(*terms), *others) == expected


@pytest.mark.parametrize(
    ("term", "namespace", "expected"),
    [
        pytest.param(to("new"), "default", "b1 nowhere", id="the other repels the newcomer"),
        pytest.param(to("else"), "default", "a1 a2 b1 nowhere", id="it repels another pod"),
        pytest.param(to("new", namespaces=("prod",)), "prod", "a1 a2 b1 nowhere", id="of its own namespace"),
        pytest.param(to("new", everywhere=True), "prod", "b1 nowhere", id="of every namespace"),
    ],
)
def test_anti_affinity_of_placed_pods_counts_too(term: PodTerm, namespace: str, expected: str) -> None:
    hermit = pod("hermit", "a1", asks=shape(gpus=1, anti_affinity=(term,)), namespace=namespace)
    assert welcome(queued("new", gpus=1, labels={"app": "new"}), hermit) == expected


def test_preferred_anti_affinity_of_placed_pods_forbids_nothing() -> None:
    mild = pod("mild", "a1", asks=shape(gpus=1, preferred_affinity=((-100, to("new")),)))
    assert welcome(queued("new", gpus=1, labels={"app": "new"}), mild) == "a1 a2 b1 nowhere"


def test_members_of_a_gang_keep_apart() -> None:
    asks = shape(gpus=1, anti_affinity=(to("gang", key=HOST),))
    gang = queued("gang", members=3, asks=asks, labels={"app": "gang"})
    made = planned(*(node(name) for name in "abc"), gang)
    assert sorted(seats(made).values()) == ["a", "b", "c"]
    assert seats(planned(node("a"), node("b"), gang)) == {}


def test_a_gang_may_preempt_the_gang_whose_anti_affinity_keeps_it_away() -> None:
    hermit = pod("hermit", "a1", asks=shape(gpus=1, anti_affinity=(to("new"),)))
    new = queued("new", gpus=1, priority=5, labels={"app": "new"})
    made = planned(node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), hermit, new)
    assert [type(action).__name__ for action in made.actions] == ["Preempt", "Start"]


# Spreading


def spread(max_skew: int = 1, key: str = ZONE, **rest: Any) -> SpreadConstraint:
    return SpreadConstraint(topology_key=key, max_skew=max_skew, **{"hard": True, "selector": app("new"), **rest})


def spreading(*spreads: SpreadConstraint, **rest: Any) -> Gang:
    return queued("new", asks=shape(gpus=1, spreads=spreads, **rest), labels={"app": "new"})


def shared_blockers(**counts: int) -> list[Gang]:
    return [pod(f"old-{where}-{i}", where, "new") for where, count in counts.items() for i in range(count)]


THREE = [node(name, labels={ZONE: name[0]}) for name in ("a1", "b1", "c1")]


@pytest.mark.parametrize(
    ("rule", "counts", "expected"),
    [
        pytest.param(spread(1), {}, "a1 b1 c1", id="no pod yet"),
        pytest.param(spread(1), {"a1": 1}, "b1 c1", id="one ahead is the limit"),
        pytest.param(spread(2), {"a1": 1}, "a1 b1 c1", id="a wider limit"),
        pytest.param(spread(1), {"a1": 2, "b1": 2, "c1": 1}, "c1", id="only where the fewest are"),
        pytest.param(spread(1), {"a1": 2, "b1": 2, "c1": 2}, "a1 b1 c1", id="even"),
        pytest.param(
            spread(1, selector=app("other")), {"a1": 3}, "a1 b1 c1", id="others are counted, and there are none"
        ),
        pytest.param(spread(1, selector=None), {"a1": 3}, "a1 b1 c1", id="no selector counts no pod"),
        pytest.param(spread(1, min_domains=3), {"a1": 1, "b1": 1, "c1": 1}, "a1 b1 c1", id="enough domains"),
        pytest.param(spread(1, min_domains=4), {"a1": 1, "b1": 1, "c1": 1}, "", id="too few: the least counts as none"),
        pytest.param(spread(1, hard=False), {"a1": 5}, "a1 b1 c1", id="ScheduleAnyway forbids nothing"),
        pytest.param(spread(1, key="absent"), {}, "", id="no node has the label"),
    ],
)
def test_spread(rule: SpreadConstraint, counts: dict[str, int], expected: str) -> None:
    assert welcome(spreading(rule), *shared_blockers(**counts), where=THREE) == expected


def test_a_pod_that_its_own_selector_does_not_match_does_not_count_itself() -> None:
    rule = spread(1, selector=app("old"))
    old = [pod("x", "a1", "old")]
    assert welcome(spreading(rule), *old, where=THREE) == "a1 b1 c1"


def test_pods_of_other_namespaces_and_on_their_way_out_are_not_counted() -> None:
    stranger = running("x", on="a1", gpus=1, labels={"app": "new"}, namespace="prod")
    leaver = queued("y", gpus=1, labels={"app": "new"}, leaving=pod("y", "a1", "new").seated())
    assert welcome(spreading(spread(1)), stranger, leaver, where=THREE) == "a1 b1 c1"


def test_every_constraint_has_to_hold() -> None:
    hosts = spread(1, key=HOST)
    where = [node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("b1", labels={ZONE: "b"})]
    assert welcome(spreading(spread(1), hosts), *shared_blockers(a1=1, b1=1), where=where) == "a2"


def test_nodes_the_pod_could_not_use_are_no_domains_unless_asked_for() -> None:
    """With Honor, the default, an empty zone the selector excludes does not hold the least number down."""
    where = [node(n, labels={ZONE: n[0], "use": use}) for n, use in (("a1", "y"), ("b1", "y"), ("c1", "n"))]
    picky = {"selector": (("use", "y"),)}
    assert welcome(spreading(spread(1), **picky), *shared_blockers(a1=1, b1=1), where=where) == "a1 b1 c1"
    assert (
        welcome(spreading(spread(1, honor_affinity=False), **picky), *shared_blockers(a1=1, b1=1), where=where) == "c1"
    )


def test_node_affinity_counts_like_the_selector() -> None:
    where = [node(n, labels={ZONE: n[0], "use": use}) for n, use in (("a1", "y"), ("b1", "y"), ("c1", "n"))]
    picky = {"required": (NodeTerm((Requirement("use", "In", ("y",)),)),)}
    assert welcome(spreading(spread(1), **picky), *shared_blockers(a1=1, b1=1), where=where) == "a1 b1 c1"


def test_tainted_nodes_are_domains_unless_taints_are_honoured() -> None:
    where = [*THREE[:2], tainted(THREE[2], Taint("key", NO_SCHEDULE))]
    assert welcome(spreading(spread(1)), *shared_blockers(a1=1, b1=1), where=where) == "c1"
    assert welcome(spreading(spread(1, honor_taints=True)), *shared_blockers(a1=1, b1=1), where=where) == "a1 b1 c1"


def test_pods_on_nodes_the_pod_could_not_use_are_not_counted() -> None:
    """In zone a, two pods sit on a node the newcomer's selector excludes. For its spread they are not there."""
    where = [
        node("a1", labels={ZONE: "a", "use": "y"}),
        node("a2", labels={ZONE: "a", "use": "n"}),
        node("b1", labels={ZONE: "b", "use": "y"}),
    ]
    gang = spreading(spread(1), selector=(("use", "y"),))
    assert welcome(gang, *shared_blockers(a2=2), where=where) == "a1 a2 b1"


def test_nodes_without_every_hard_key_are_no_domains() -> None:
    """A zone whose only node lacks another constraint's label does not hold the least number down."""
    where = [node(n, labels={ZONE: n[0], "rack": n}) for n in ("a1", "b1")] + [node("c1", labels={ZONE: "c"})]
    both = (spread(1), spread(5, key="rack"))
    assert welcome(spreading(*both), *shared_blockers(a1=1, b1=1), where=where) == "a1 b1"


def test_members_of_a_gang_spread() -> None:
    asks = shape(gpus=1, spreads=(spread(1, selector=app("gang")),))
    made = planned(THREE, queued("gang", members=6, asks=asks, labels={"app": "gang"}))
    assert sorted(seats(made).values()) == ["a1", "a1", "b1", "b1", "c1", "c1"]


# Soft rules


def test_preferred_affinity_leans_and_does_not_bind() -> None:
    drawn = queued("new", asks=shape(gpus=1, preferred_affinity=((50, to("db")),)), labels={"app": "new"})
    there = pod("db", "b1")
    assert seats(planned(ZONES, drawn, there)) == {"new-0": "b1"}
    assert len(seats(planned(ZONES, drawn))) == 1


def test_preferred_anti_affinity_leans_away() -> None:
    shy = queued("new", asks=shape(gpus=1, preferred_affinity=((-50, to("db", key=HOST)),)), labels={"app": "new"})
    assert seats(planned(node("a"), node("b"), shy, pod("db", "a"))) == {"new-0": "b"}
    assert seats(planned(node("a"), shy, pod("db", "a"))) == {"new-0": "a"}


def test_a_soft_spread_leans_to_the_emptier_domain() -> None:
    gang = spreading(spread(1, hard=False))
    assert seats(planned(THREE, gang, *shared_blockers(a1=2, b1=1))) == {"new-0": "c1"}
