"""What one node says to one pod agrees with kube-scheduler: expected values are from Kubernetes' documented rules."""

import pytest

from tests.decide.builders import GPU, NOW, node, plan_lines, planned, queued, running, seats, shape, tainted
from understudy.decide import fit
from understudy.model.gangs import HostPort, Shape
from understudy.model.nodes import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Health,
    Node,
    Taint,
    Toleration,
    Verdict,
)
from understudy.model.selectors import NodeTerm, Requirement


def need(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values)


def term(*labels: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeTerm:
    return NodeTerm(labels, fields)


LABELLED = node("n", labels={"zone": "a", "disk": "ssd", "cores": "8", "empty": "", "odd": "8.5", "under": "1_0"})


# Node affinity


@pytest.mark.parametrize(
    ("requirement", "welcome"),
    [
        (need("zone", "In", "a", "b"), True),
        (need("zone", "In", "b"), False),
        (need("zone", "In", "A"), False),
        (need("empty", "In", ""), True),
        (need("absent", "In", "a"), False),
        (need("absent", "In", ""), False),
        (need("zone", "NotIn", "b"), True),
        (need("zone", "NotIn", "a", "b"), False),
        (need("absent", "NotIn", "a"), True),
        (need("zone", "Exists"), True),
        (need("empty", "Exists"), True),
        (need("absent", "Exists"), False),
        (need("zone", "DoesNotExist"), False),
        (need("absent", "DoesNotExist"), True),
        (need("cores", "Gt", "7"), True),
        (need("cores", "Gt", "8"), False),
        (need("cores", "Gt", "-1"), True),
        (need("cores", "Lt", "9"), True),
        (need("cores", "Lt", "10"), True),
        (need("cores", "Lt", "8"), False),
        (need("absent", "Gt", "0"), False),
        (need("absent", "Lt", "0"), False),
        (need("zone", "Gt", "0"), False),
        (need("odd", "Gt", "0"), False),
        (need("under", "Gt", "0"), False),
        (need("empty", "Lt", "5"), False),
        (need("cores", "Lt", "many"), False),
    ],
    ids=str,
)
def test_an_expression(requirement: Requirement, welcome: bool) -> None:
    assert (fit.affine(shape(required=(term(requirement),)), LABELLED) is None) is welcome


@pytest.mark.parametrize(
    ("terms", "welcome"),
    [
        pytest.param((), True, id="no affinity"),
        pytest.param((term(),), False, id="an empty term matches no node"),
        pytest.param((term(), term(need("zone", "In", "a"))), True, id="an empty term beside one that matches"),
        pytest.param((term(need("zone", "In", "b")), term(need("disk", "Exists"))), True, id="terms are alternatives"),
        pytest.param((term(need("zone", "In", "b")), term(need("disk", "In", "hdd"))), False, id="none of the terms"),
        pytest.param((term(need("zone", "In", "a"), need("disk", "In", "ssd")),), True, id="expressions all hold"),
        pytest.param((term(need("zone", "In", "a"), need("disk", "In", "hdd")),), False, id="one of them does not"),
        pytest.param((term(fields=(need("metadata.name", "In", "n"),)),), True, id="the node by name"),
        pytest.param((term(fields=(need("metadata.name", "In", "m"),)),), False, id="another by name"),
        pytest.param((term(fields=(need("metadata.name", "NotIn", "n"),)),), False, id="not this one by name"),
        pytest.param((term(need("zone", "In", "a"), fields=(need("metadata.name", "In", "n"),)),), True, id="both"),
        pytest.param(
            (term(need("zone", "In", "b"), fields=(need("metadata.name", "In", "n"),)),), False, id="only one"
        ),
    ],
)
def test_terms(terms: tuple[NodeTerm, ...], welcome: bool) -> None:
    assert (fit.affine(shape(required=terms), LABELLED) is None) is welcome


@pytest.mark.parametrize(
    ("selector", "welcome"),
    [
        ((), True),
        ((("zone", "a"),), True),
        ((("zone", "a"), ("disk", "ssd")), True),
        ((("zone", "a"), ("disk", "hdd")), False),
        ((("absent", ""),), False),
    ],
)
def test_node_selector(selector: tuple[tuple[str, str], ...], welcome: bool) -> None:
    assert (fit.selected(shape(selector=selector), LABELLED) is None) is welcome


def test_selector_and_affinity_both_have_to_hold() -> None:
    asks = shape(selector=(("zone", "a"),), required=(term(need("disk", "In", "hdd")),))
    assert fit.refusal(asks, LABELLED) == "node affinity asks for disk=hdd"


def test_every_volume_has_to_be_reached_by_one_of_its_terms() -> None:
    here, there = term(need("zone", "In", "a")), term(need("zone", "In", "b"))
    assert fit.reaches_volumes(shape(volumes=((there, here), (here,))), LABELLED) is None
    assert fit.reaches_volumes(shape(volumes=((here,), (there,))), LABELLED) == (
        "a volume can only be reached where zone=b"
    )


# Taints and tolerations


@pytest.mark.parametrize("effect", [NO_SCHEDULE, NO_EXECUTE])
@pytest.mark.parametrize(
    ("toleration", "welcome"),
    [
        pytest.param(None, False, id="none"),
        pytest.param(Toleration("key", "Equal", "value"), True, id="equal, any effect"),
        pytest.param(Toleration("key", "Equal", "other"), False, id="wrong value"),
        pytest.param(Toleration("key", "Equal"), False, id="no value"),
        pytest.param(Toleration("other", "Equal", "value"), False, id="wrong key"),
        pytest.param(Toleration("key", "Exists"), True, id="exists"),
        pytest.param(Toleration("other", "Exists"), False, id="another exists"),
        pytest.param(Toleration("", "Exists"), True, id="everything"),
        pytest.param(Toleration("key", "Exists", "", PREFER_NO_SCHEDULE), False, id="only the soft effect"),
    ],
)
def test_hard_taints(effect: str, toleration: Toleration | None, welcome: bool) -> None:
    asks = shape(tolerations=(toleration,) if toleration else ())
    assert (fit.tolerated(asks, tainted(node("n"), Taint("key", effect, "value"))) is None) is welcome


@pytest.mark.parametrize("effect", [NO_SCHEDULE, NO_EXECUTE])
@pytest.mark.parametrize("tolerated", [NO_SCHEDULE, NO_EXECUTE, ""])
def test_effects_are_tolerated_one_by_one(effect: str, tolerated: str) -> None:
    asks = shape(tolerations=(Toleration("key", "Exists", "", tolerated),))
    welcome = fit.tolerated(asks, tainted(node("n"), Taint("key", effect))) is None
    assert welcome is (tolerated in ("", effect))


def test_every_hard_taint_has_to_be_tolerated() -> None:
    both = tainted(node("n"), Taint("a", NO_SCHEDULE), Taint("b", NO_EXECUTE, "x"))
    one, other = Toleration("a", "Exists"), Toleration("b", "Equal", "x")
    assert fit.tolerated(shape(tolerations=(one,)), both) == "taint b=x:NoExecute is not tolerated"
    assert fit.tolerated(shape(tolerations=(one, other)), both) is None


def test_a_taint_without_a_value_is_equal_to_a_toleration_without_one() -> None:
    bare = tainted(node("n"), Taint("key", NO_SCHEDULE))
    assert fit.tolerated(shape(tolerations=(Toleration("key"),)), bare) is None


@pytest.mark.parametrize(
    ("tolerations", "welcome"),
    [
        ((), False),
        ((Toleration("node.kubernetes.io/unschedulable", "Exists"),), True),
        ((Toleration("node.kubernetes.io/unschedulable", "Exists", "", NO_SCHEDULE),), True),
        ((Toleration("node.kubernetes.io/unschedulable", "Exists", "", NO_EXECUTE),), False),
        ((Toleration("", "Exists"),), True),
        ((Toleration("other", "Exists"),), False),
    ],
)
def test_a_cordon_can_be_tolerated(tolerations: tuple[Toleration, ...], welcome: bool) -> None:
    assert (fit.open_for_seats(shape(tolerations=tolerations), node("n", unschedulable=True)) is None) is welcome


@pytest.mark.parametrize("verdict", [Verdict.SUSPECT, Verdict.LOST, Verdict.LEAVING])
def test_ill_health_cannot(verdict: Verdict) -> None:
    sick = node("n", health=Health(verdict, "xid 79"))
    assert fit.refusal(shape(tolerations=(Toleration("", "Exists"),)), sick) == f"is {verdict} (xid 79)"


def test_what_is_not_supported_is_refused_in_words() -> None:
    assert fit.refusal(shape(unsupported=("resource claims",)), node("n")) == "resource claims"


# Soft rules


def test_a_soft_taint_is_avoided_but_used_when_nothing_else_is_left() -> None:
    soft = tainted(node("a"), Taint("key", PREFER_NO_SCHEDULE))
    assert fit.tolerated(shape(), soft) is None
    assert seats(planned(soft, node("b"), queued("one"))) == {"one-0": "b"}
    assert seats(planned(soft, queued("one"))) == {"one-0": "a"}


def test_a_preferred_node_is_taken_where_there_is_one() -> None:
    asks = shape(preferred=((10, term(need("disk", "In", "ssd"))), (1, term(need("zone", "In", "b")))))
    fast, near, plain = node("c", labels={"disk": "ssd"}), node("b", labels={"zone": "b"}), node("a")
    assert seats(planned(plain, near, fast, queued("one", asks=asks))) == {"one-0": "c"}
    assert seats(planned(plain, near, queued("one", asks=asks))) == {"one-0": "b"}
    assert seats(planned(plain, queued("one", asks=asks))) == {"one-0": "a"}


def test_weights_add_up() -> None:
    terms = ((2, term(need("a", "Exists"))), (3, term(need("b", "Exists"))), (4, term(need("c", "Exists"))))
    assert fit.preference(shape(preferred=terms), node("n", labels={"a": "", "b": ""})) == 5


def test_a_node_that_failed_lately_is_the_last_choice_even_where_it_fits_tighter() -> None:
    shaky = node("a", failures=(NOW - 60.0,))
    half_full = running("other", on="a", gpus=4)
    assert seats(planned(shaky, node("b"), half_full, queued("one", gpus=4))) == {"one-0": "b"}
    assert seats(planned(shaky, half_full, queued("one", gpus=4))) == {"one-0": "a"}


# Resources


@pytest.mark.parametrize(
    ("asked", "offered", "welcome"),
    [
        ({"cpu": 1000}, {"cpu": 1000, "pods": 1}, True),
        ({"cpu": 1001}, {"cpu": 1000, "pods": 1}, False),
        ({"memory": 5}, {"memory": 4, "pods": 1}, False),
        ({"ephemeral-storage": 5}, {"ephemeral-storage": 5, "pods": 1}, True),
        ({"example.com/fpga": 1}, {"pods": 1}, False),
        ({"example.com/fpga": 1}, {"example.com/fpga": 1, "pods": 1}, True),
        ({"hugepages-2Mi": 2}, {"hugepages-2Mi": 1, "pods": 1}, False),
        ({GPU: 8}, {GPU: 7, "pods": 1}, False),
        ({"pods": 1}, {"pods": 0}, False),
        ({"pods": 1}, {"pods": 1}, True),
        ({}, {}, True),
    ],
)
def test_resources(asked: dict[str, int], offered: dict[str, int], welcome: bool) -> None:
    asks = Shape(requests=tuple(sorted(asked.items())), accelerators=asked.get(GPU, 0))
    made = planned(node("n", allocatable=offered), queued("one", asks=asks))
    assert (seats(made) == {"one-0": "n"}) is welcome


def test_what_others_take_is_not_there() -> None:
    asks = shape(gpus=1, cpu=40_000)
    assert plan_lines(node("n"), running("other", on="n", asks=asks), queued("one", asks=asks)) == [
        "one waits: needs 1 pod with 1 nvidia.com/gpu + 40 cpu; room for 0 of 1 pods; n has too little cpu free"
    ]


def test_a_node_holds_no_more_pods_than_it_says() -> None:
    small = node("n", allocatable={GPU: 8, "pods": 2})
    assert seats(planned(small, running("other", on="n", gpus=1), queued("two", members=2, gpus=1))) == {}
    assert seats(planned(small, running("other", on="n", gpus=1), queued("one", gpus=1))) == {"one-0": "n"}


def test_an_over_committed_resource_matters_only_to_pods_that_request_it() -> None:
    crowded = running("other", on="n", asks=shape(gpus=0, cpu=80_000), managed=False)
    assert seats(planned(node("n"), crowded, queued("one", asks=shape(gpus=1)))) == {"one-0": "n"}
    assert seats(planned(node("n"), crowded, queued("one", asks=shape(gpus=1, cpu=1)))) == {}


@pytest.mark.parametrize(
    ("free", "expected"), [({"cpu": 5, GPU: 9}, 2), ({"cpu": 5, GPU: 1}, 1), ({"cpu": -1, GPU: 9}, 0), ({}, 0)]
)
def test_capacity_is_that_of_the_scarcest(free: dict[str, int], expected: int) -> None:
    assert fit.capacity(shape(gpus=1, cpu=2, requests=(("cpu", 2), (GPU, 1))), free, 100) == expected


# Host ports


@pytest.mark.parametrize(
    ("asked", "taken", "welcome"),
    [
        (HostPort(80), HostPort(80), False),
        (HostPort(80), HostPort(81), True),
        (HostPort(80, "UDP"), HostPort(80), True),
        (HostPort(80, "SCTP"), HostPort(80, "SCTP"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80), False),
        (HostPort(80), HostPort(80, ip="10.0.0.1"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, "UDP"), True),
    ],
    ids=str,
)
def test_host_ports(asked: HostPort, taken: HostPort, welcome: bool) -> None:
    there = running("other", on="n", asks=shape(gpus=1, host_ports=(taken,)))
    made = planned(node("n"), there, queued("one", asks=shape(gpus=1, host_ports=(asked,))))
    assert (seats(made) == {"one-0": "n"}) is welcome


def test_pods_of_one_gang_do_not_share_a_host_port() -> None:
    gang = queued("two", members=2, asks=shape(gpus=1, host_ports=(HostPort(80),)))
    assert seats(planned(node("n"), gang)) == {}
    assert sorted(seats(planned(node("n"), node("m"), gang)).values()) == ["m", "n"]


# Reasons name the right thing


@pytest.mark.parametrize(
    ("asks", "where", "why"),
    [
        (shape(gpus=4), node("n", gpus=0), "has no nvidia.com/gpu"),
        (shape(gpus=16), node("n"), "has only 8 nvidia.com/gpu"),
        (shape(gpus=8), node("n"), "has 4 of 8 nvidia.com/gpu free"),
        (shape(gpus=1, cpu=1), node("n"), "has too little cpu free"),
    ],
)
def test_a_shortage_in_words(asks: Shape, where: Node, why: str) -> None:
    assert fit.shortage(asks, {GPU: 4, "pods": 9} if GPU in where.allocatable else {"pods": 9}, where) == why


def test_the_snapshot_and_the_filters_agree() -> None:
    """No filter is skipped on the way to a seat: a node that any of them refuses gets none."""
    welcome = node("n", labels={"zone": "a"})
    asks = shape(selector=(("zone", "a"),), required=(term(need("zone", "Exists")),))
    assert seats(planned(welcome, queued("one", asks=asks))) == {"one-0": "n"}
    for closed in (
        node("n", labels={"zone": "b"}),
        node("n"),
        tainted(welcome, Taint("key", NO_SCHEDULE)),
        node("n", labels={"zone": "a"}, unschedulable=True),
        node("n", labels={"zone": "a"}, failures=(NOW - 1.0,) * 3),
    ):
        assert seats(planned(closed, queued("one", asks=asks))) == {}


# More than the whole cluster


@pytest.mark.parametrize(
    ("pods", "exceeds"),
    [
        ({8: 2}, False),
        ({8: 3}, True),
        ({8: 1, 4: 2}, False),
        ({8: 1, 4: 3}, True),
        ({16: 1}, False),  # too large for each node, which is for the search to find
        ({0: 1000}, False),
    ],
)
def test_pods_exceed_a_cluster_that_has_less_in_all(pods: dict[int, int], exceeds: bool) -> None:
    counts = [(shape(gpus=gpus), count) for gpus, count in pods.items()]
    nodes = [{GPU: 8, "pods": 1000, "cpu": 1000}, {GPU: 8, "pods": 1000}]
    assert fit.exceeds_all(counts, nodes) is exceeds
