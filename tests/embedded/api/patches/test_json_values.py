"""Two orders of one list, merged into one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.api.patches.json_values import merged_order

LETTERS = st.lists(st.sampled_from("abcdef"), unique=True).map("".join)


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "cba", "cba"),
        ("abc", "abcd", "abcd"),
        ("axb", "ba", "bax"),
        ("xab", "acb", "xacb"),
        ("axb", "cab", "caxb"),
        ("aa", "a", "a"),
    ],
)
def test_weaving(current: str, wanted: str, expected: str) -> None:
    assert "".join(merged_order(current, wanted)) == expected


@given(LETTERS, LETTERS)
def test_nothing_is_lost_and_each_side_keeps_its_order(current: str, wanted: str) -> None:
    result = "".join(merged_order(current, wanted))
    assert sorted(result) == sorted(set(current + wanted))
    assert [letter for letter in result if letter in wanted] == list(wanted)
    assert [letter for letter in result if letter not in wanted] == [one for one in current if one not in wanted]
