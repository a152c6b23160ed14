"""Patterns of schemas mean what RE2 says, and none of them can run for ever."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.schema.custom.patterns import BadPattern, Pattern
from understudy.embedded.schema.custom.work_budget import BudgetExhausted, WorkBudget

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
        ("(", r"missing \)"),
        (")", r"unexpected \)"),
        ("*a", "no argument for repetition"),
        ("a**", "bad repetition"),
        ("[z-a]", "invalid character class range"),
        ("[a", r"missing \]"),
        ("a\\", "trailing"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{2,1}", "invalid repetition size"),
        ("a{5000}", "invalid repetition size"),
        ("((a{1000}){1000}){1000}", "invalid repetition size"),
        (r"(\pL{1000}){10}\pL{1000}", "too large|invalid repetition size"),
        (r"\p{Nonsense}", "invalid character class range"),
    ],
)
def test_a_pattern_that_re2_does_not_know_is_refused_with_the_reason(pattern: str, words: str) -> None:
    with pytest.raises(BadPattern, match=words):
        Pattern(pattern)


def test_a_large_pattern_on_a_long_text_uses_up_the_budget() -> None:
    with pytest.raises(BudgetExhausted):
        Pattern("[01]*1[01]{900}x").search("01" * 200_000, WorkBudget())


def test_text_that_utf_8_cannot_hold_is_matched_like_any_other() -> None:
    assert Pattern("^.a$").search("\ud800a", WorkBudget())
