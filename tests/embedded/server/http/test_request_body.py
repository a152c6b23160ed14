"""Request bodies: JSON, YAML and protobuf, and what is refused."""

from typing import Any

import pytest

from understudy.embedded.schema.errors import ApiError
from understudy.embedded.server.http.request_body import BadYaml, from_yaml, load_yaml


def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    text = b"a: 2020-01-01\nb: 012\nc: 1e3\nd: [x, 'yes']\ne: ~\nf: 0x1F\ng: \"\\u00e9\"\n"
    assert from_yaml(text) == {"a": "2020-01-01", "b": 10, "c": "1e3", "d": ["x", "yes"], "e": None, "f": 31, "g": "é"}


def test_json_is_yaml_too() -> None:
    assert from_yaml(b'{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}


@pytest.mark.parametrize(
    "text",
    [
        b"a: &x [*x]",
        b"a: [1",
        b"\xff\xfe\x00",
        b"a: !!python/object/apply:os.system ['true']",
        b"[" * 5000,
        b"{a: " * 5000,
        b"? " * 5000,
        b"- " * 5000 + b"x",
        b"\n".join(b" " * n + b"a:" for n in range(3000)),
        b"a: b: c",
        b"[1]: x",
        b"~: x",
    ],
)
def test_invalid_or_harmful_yaml_is_a_bad_request(text: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        from_yaml(text)
    assert refused.value.code == 400


def test_all_yaml_becomes_json_values() -> None:
    assert from_yaml(b"3: a\ntrue: b\n2.5: c\nd: !!binary AAE=\ne: !!set {x}\n") == {
        "3": "a",
        "true": "b",
        "2.5": "c",
        "d": "AAE=",
        "e": ["x"],
    }


def test_a_time_of_day_is_text() -> None:
    assert from_yaml(b"at: 1:30")["at"] == "1:30"


def test_a_duplicate_key_is_refused() -> None:
    with pytest.raises(ApiError, match="stands twice"):
        from_yaml(b"a: 1\na: 2\n")


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
def test_yaml_values_become_json_values(text: str, value: Any) -> None:
    assert load_yaml(text) == value


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
def test_wrong_yaml_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(BadYaml, match=problem):
        load_yaml(text)
