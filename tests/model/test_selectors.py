"""Every operator of label conditions, against values that match, do not match, are absent, or are no numbers."""

import pytest

from understudy.model.gangs import PodTerm
from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration
from understudy.model.selectors import OPERATORS, NodeTerm, Requirement, Selector


@pytest.mark.parametrize(
    ("operator", "values", "value", "expected"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), "c", False),
        ("In", ("a",), None, False),
        ("In", ("",), "", True),
        ("NotIn", ("a", "b"), "c", True),
        ("NotIn", ("a", "b"), "b", False),
        ("NotIn", ("a",), None, True),
        ("Exists", (), "a", True),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "", False),
        ("Gt", ("5",), "6", True),
        ("Gt", ("5",), "5", False),
        ("Gt", ("-5",), "-4", True),
        ("Gt", ("5",), "six", False),
        ("Gt", ("five",), "6", False),
        ("Gt", (), "6", False),
        ("Gt", ("5",), None, False),
        ("Lt", ("5",), "4", True),
        ("Lt", ("5",), "5", False),
        ("Lt", ("10",), "9", True),  # as numbers, not as text
        ("Lt", ("5",), None, False),
    ],
)
def test_requirement(operator: str, values: tuple[str, ...], value: str | None, expected: bool) -> None:
    labels = {} if value is None else {"key": value}
    assert Requirement("key", operator, values).matches({"other": "a", **labels}) is expected


def test_every_operator_is_known() -> None:
    for operator in OPERATORS:
        Requirement("key", operator, ("1",)).matches({"key": "1"})


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(ValueError, match="'Near' is none of In, NotIn"):
        Requirement("key", "Near").matches({})


def test_a_selector_wants_all_its_requirements() -> None:
    both = Selector((Requirement("a", "In", ("1",)), Requirement("b", "Exists")))
    assert both.matches({"a": "1", "b": "x"})
    assert not both.matches({"a": "1"})
    assert not both.matches({"b": "x"})


def test_an_empty_selector_matches_everything_and_an_empty_term_nothing() -> None:
    assert Selector().matches({})
    assert not NodeTerm().matches("n", {"a": "1"})


def test_a_node_term_looks_at_labels_and_at_the_name() -> None:
    by_name = Requirement("metadata.name", "In", ("n1",))
    assert NodeTerm(fields=(by_name,)).matches("n1", {})
    assert not NodeTerm(fields=(by_name,)).matches("n2", {"metadata.name": "n1"})
    assert not NodeTerm((Requirement("a", "Exists"),), (by_name,)).matches("n1", {})
    assert not NodeTerm((Requirement("metadata.name", "Exists"),)).matches("n1", {})


def test_conditions_read_as_words() -> None:
    term = NodeTerm((Requirement("a", "In", ("1",)), Requirement("b", "NotIn", ("2", "3")), Requirement("c", "Exists")))
    assert str(term) == "a=1, b NotIn [2, 3], c Exists"
    assert (str(Selector()), str(NodeTerm())) == ("everything", "nothing")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        (Toleration("k", "Equal", "v"), Taint("k", NO_SCHEDULE, "v"), True),
        (Toleration("k", "Equal", "v"), Taint("k", NO_SCHEDULE, "w"), False),
        (Toleration("k", "Equal", "v"), Taint("l", NO_SCHEDULE, "v"), False),
        (Toleration("k", "Exists"), Taint("k", NO_EXECUTE, "v"), True),
        (Toleration("k", "Exists", effect=NO_SCHEDULE), Taint("k", NO_EXECUTE), False),
        (Toleration("", "Exists"), Taint("anything", NO_EXECUTE, "v"), True),
        (Toleration("", "Exists", effect=NO_SCHEDULE), Taint("anything", NO_SCHEDULE), True),
        (Toleration("", "Equal", ""), Taint("k", NO_SCHEDULE), False),
    ],
)
def test_toleration(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert toleration.tolerates(taint) is expected


def test_a_pod_term_is_bound_to_namespaces() -> None:
    everyone = Selector()
    assert PodTerm("k", everyone, ("a",)).matches("a", {})
    assert not PodTerm("k", everyone, ("a",)).matches("b", {})
    assert PodTerm("k", everyone, every_namespace=True).matches("b", {})
    assert not PodTerm("k", None, every_namespace=True).matches("b", {})
