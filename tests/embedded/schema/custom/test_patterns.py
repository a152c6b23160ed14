"""Regular expressions that cannot be made to run for ever."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.schema.custom.patterns import Pattern
from understudy.embedded.schema.custom.regexes import BadPattern
from understudy.embedded.schema.custom.work_budget import WorkBudget

_ATOMS = ["a", "b", "[a-c]", "[^a]", ".", r"\d", r"\w", r"\.", "1", "-", "(a|b1)", "(ab)?", "(?:a|)", r"\b"]


@st.composite
def patterns(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(st.tuples(st.sampled_from(_ATOMS), st.sampled_from(["", "", "*", "+", "?", "{1,2}"])), max_size=5)
    )
    body = "".join(f"(?:{atom}){mark}" if mark else atom for atom, mark in parts)
    branch = draw(st.sampled_from(["", "", "|b", "|"]))
    start, end = draw(st.sampled_from(["", "^"])), draw(st.sampled_from(["", r"\z"]))
    return f"{start}({body}{branch}){end}"


@given(patterns(), st.text("ab1-.\n", max_size=8))
def test_they_match_what_python_matches(pattern: str, text: str) -> None:
    expected = re.search(pattern.replace(r"\z", r"\Z"), text, re.ASCII) is not None
    assert Pattern(pattern).search(text, WorkBudget()) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a-b.c9", True),
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a-.c", False),
        (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$", "1.5Gi", True),
        (r"(?i)^ABC$", "aBc", True),
        (r"^(?i:a)b$", "AB", False),
        (r"^\p{Lu}\pL+$", "Ärger", True),
        (r"^[[:alpha:]_]+$", "ab_", True),
        (r"^\Qa.b\E$", "axb", False),
        (r"^x{,3}$", "x{,3}", True),
        (r"^\x41\x{42}$", "AB", True),
        (r"a$", "a\n", False),
    ],
)
def test_they_mean_what_they_mean_in_go(pattern: str, text: str, matches: bool) -> None:
    assert Pattern(pattern).search(text, WorkBudget()) is matches


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*.*.*.*){20}x"])
def test_famous_traps_cost_little(pattern: str) -> None:
    budget = WorkBudget()
    Pattern(pattern).search("a" * 5000 + "b", budget)
    assert budget.left > 0


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "a group is not closed"),
        (")", "unexpected"),
        ("*a", "nothing to repeat"),
        ("a**", "a repetition is repeated"),
        ("[z-a]", "runs backwards"),
        ("[a", "ends too early"),
        ("a\\", "ends too early"),
        ("(?=a)", "no look-around"),
        (r"(a)\1", r"\\1 is not supported"),
        ("a{2,1}", "is not possible"),
        ("a{5000}", "1000 is the most"),
        ("((a{1000}){1000}){1000}", "too large"),
        ("(" * 100 + ")" * 100, "nested deeper"),
        ("a" * 5000, "longer than"),
        (r"\p{Nonsense}", "is not supported"),
    ],
)
def test_what_is_not_understood_is_refused_in_words(pattern: str, words: str) -> None:
    with pytest.raises(BadPattern, match=words):
        Pattern(pattern)
