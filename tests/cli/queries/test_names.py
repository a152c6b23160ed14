"""The gang or node a user means, by any of its names."""

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.queries.names import check_node_name, find_gang

KEYS = ("JobSet/default/train", "Pod/default/shell", "MPIJob/team-a/train", "Job/team-a/tune")


@pytest.mark.parametrize(
    ("wanted", "key"),
    [
        ("shell", "Pod/default/shell"),
        ("default/train", "JobSet/default/train"),
        ("mpijob/train", "MPIJob/team-a/train"),
        ("MPIJob/team-a/train", "MPIJob/team-a/train"),
        ("jobset/default/train", "JobSet/default/train"),
    ],
)
def test_a_gang_answers_to_its_names(wanted: str, key: str) -> None:
    assert find_gang(wanted, KEYS, "--explain") == key


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ("train", "--explain: 'train' may be JobSet/default/train, MPIJob/team-a/train; write the one you mean"),
        ("shel", "--explain: no gang 'shel'; did you mean shell"),
        ("zzz", "--explain: no gang 'zzz'; there are Job/team-a/tune, JobSet/default/train, "),
    ],
)
def test_a_name_that_is_none_or_two_is_refused(wanted: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        find_gang(wanted, KEYS, "--explain")
    assert str(caught.value).startswith(complaint)


def test_no_gangs_at_all() -> None:
    with pytest.raises(BadInput, match="no gang 'x'; there is none"):
        find_gang("x", (), "--explain")


def test_nodes_answer_to_their_whole_name_only() -> None:
    assert check_node_name("node-1", ["node-1", "node-2"], "--what-if") == "node-1"
    with pytest.raises(BadInput, match=r"no node 'nod-1'; did you mean node-1"):
        check_node_name("nod-1", ["node-1", "node-2"], "--what-if")
    with pytest.raises(BadInput, match=r"no node 'zzz'; there are: node-1, node-2"):
        check_node_name("zzz", ["node-1", "node-2"], "--what-if")
