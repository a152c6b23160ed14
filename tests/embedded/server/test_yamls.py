"""YAML bodies: read as Kubernetes reads them, and refused in words where they are dangerous."""

from typing import Any

import pytest

from understudy.embedded.server.yamls import BadYaml, load


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("at: 1:30", {"at": "1:30"}),
        ("true: 1\n5: x", {"true": 1, "5": "x"}),
        ("- {a: [1, null]}", [{"a": [1, None]}]),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
    ],
)
def test_it_becomes_what_json_can_say(text: str, value: Any) -> None:
    assert load(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", "the key stands twice"),
        ("a: &x [1]\nb: &y [" + "*x, " * 1_000 + "]\nc: [" + "*y, " * 1_000 + "]", "aliases"),
        ("a: &x [*x]", "an anchor refers to itself"),
        ("a: 1\n---\nb: 2", "expected one document"),
        ("? a\n: " + "- " * 200_000, "nested too deeply"),
        ("[" * 900 + "]" * 900, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("- " * 5_000 + "a", "nested too deeply"),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[1, 2]: x", "unhashable"),
    ],
)
def test_it_is_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(BadYaml, match=problem):
        load(text)
