"""What-ifs: how they are written, and the snapshot in which they have come true."""

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.plan.what_if import (
    Change,
    WhatIfAdd,
    WhatIfDrain,
    WhatIfFail,
    WhatIfRemove,
    apply_changes,
    parse_changes,
)
from understudy.model.gangs import Gang, Island, Member, Shape
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.snapshot import Snapshot

POD = Gang("Pod/default/x", "Pod", "default", "x", islands=(Island("x", (Member("x", Shape(), node="a"),)),))
CLUSTER = Snapshot.of(nodes=[Node("node-a"), Node("node-b")], gangs=[POD])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fail-node=a", [WhatIfFail("a")]),
        ("fail-node=a,b", [WhatIfFail("a"), WhatIfFail("b")]),
        ("drain=a@+5m", [WhatIfDrain("a", 1300.0)]),
        ("drain=a@2026-01-01T00:00:00Z", [WhatIfDrain("a", 1767225600.0)]),
        ("add=dir/job.yaml", [WhatIfAdd("dir/job.yaml")]),
        ("remove=JobSet/default/x", [WhatIfRemove("JobSet/default/x")]),
    ],
)
def test_a_change_is_read(text: str, wanted: list[Change]) -> None:
    assert parse_changes([text], now=1000.0) == wanted


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fail=a", "--what-if fail=a: did you mean fail-node?"),
        ("explode=a", "--what-if explode=a: the changes are: add, drain, fail-node, remove"),
        ("fail-node", "--what-if fail-node: write fail-node=NAME[,NAME...]"),
        ("add=", "--what-if add=: write add=FILE"),
        ("drain=a", "--what-if drain=a: when? write drain=NODE@DEADLINE, such as drain=a@+5m"),
        ("drain=a@later", "--what-if drain=a@later: 'later' is not a time; write RFC 3339"),
    ],
)
def test_an_unknown_change_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_changes([text], now=1000.0)
    assert str(caught.value).startswith(complaint)


def test_changes_come_true_together_and_leave_the_original_alone() -> None:
    wanted = parse_changes(["fail-node=node-a", "drain=node-b@+5m", "remove=x"], now=1000.0)
    future = apply_changes(CLUSTER, wanted, now=1000.0)
    assert future.nodes["node-a"].node.health.verdict is Verdict.LOST
    assert future.nodes["node-b"].node.health == Health(Verdict.LEAVING, "what if it were drained", 1000.0, 1300.0)
    assert list(future.gangs) == []
    assert CLUSTER.nodes["node-a"].node.usable
    assert "Pod/default/x" in CLUSTER.gangs


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fail-node=nod-a", "--what-if fail-node=nod-a: no node 'nod-a'; did you mean node-a"),
        ("drain=zzz@+5m", "--what-if drain=zzz: no node 'zzz'; there are: a, node-a, node-b"),
        ("remove=zzz", "--what-if remove=zzz: no gang 'zzz'; there are Pod/default/x"),
    ],
)
def test_nodes_and_gangs_that_are_not_there_are_named(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        apply_changes(CLUSTER, parse_changes([text], now=1000.0), now=1000.0)
    assert str(caught.value).startswith(complaint)
