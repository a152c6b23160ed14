"""YAML that would take too much memory, stack or time is refused before it is built."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from understudy.objects.yaml_reader import DEEPEST, ExcessiveYaml, load_all, load_one

ROOT = Path(__file__).parents[2]


def bomb(levels: int, width: int = 10, value: str = "x") -> str:
    """Each list has the one before it ten times."""
    lines = [f"a0: &a0 [{value}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


def merge_bomb(levels: int) -> str:
    """Merged keys double in number at every level, though the mapping that comes of it has one."""
    lines = ["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, levels + 1))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(bomb(6), id="a million values"),
        pytest.param(bomb(400), id="more than there are atoms"),
        pytest.param(bomb(1, 500, "x" * 100_000), id="few values, and long ones"),
        pytest.param(merge_bomb(40), id="merged keys"),
        pytest.param(f"kind: List\nitems:\n- {{b: 1}}\n---\n{bomb(9)}", id="in the second document"),
    ],
)
def test_aliases_that_stand_for_too_much_are_refused(text: str) -> None:
    with pytest.raises(ExcessiveYaml, match="its aliases stand for more than 4 MiB; write out what is needed"):
        list(load_all(text))


@pytest.mark.parametrize("text", ["a: &a [*a]", "&a {b: {c: [1, *a]}}", "a: &a {<<: *a}"])
def test_an_anchor_that_refers_to_itself_is_refused(text: str) -> None:
    with pytest.raises(ExcessiveYaml, match="nested without end"):
        load_one(text)


def test_aliases_within_reason_are_read() -> None:
    [document] = load_all(bomb(3))
    assert isinstance(document.value, dict)
    assert document.value["a3"] == [[[["x"]] * 10] * 10] * 10
    shared = "a: &a {x: 1}\n" + "\n".join(f"b{n}: {{<<: *a, y: *a}}" for n in range(10_000))
    assert load_one(shared)["b9999"] == {"x": 1, "y": {"x": 1}}


def test_the_text_itself_may_be_large() -> None:
    assert len(load_one("a: '*'\nb: '" + "x" * 6_000_000 + "'")["b"]) == 6_000_000


TOO_DEEP = {
    "brackets": "[" * 200_000,
    "a sequence in a value": "? a\n: " + "- " * 200_000 + "x",
    "comments that seem to close": "[ # ]\n" * 200_000,
    "text that seems to close": "- '" + "]" * 200_000 + "'\n- " + "[" * 200_000,
    "keys": "? " * 200_000,
    "mappings": "{a: " * 200_000,
    "carriage returns": "? a\r: " + "- " * 200_000,
}


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_deep_nesting_is_refused_before_the_stack_ends(text: str) -> None:
    """In a process of its own, since it would end with it."""
    script = "import sys; from understudy.objects.yaml_reader import load_one; load_one(sys.stdin.read())"
    ran = subprocess.run([sys.executable, "-c", script], input=text, text=True, cwd=ROOT, capture_output=True)
    assert ran.returncode == 1, f"ended by signal {-ran.returncode}"
    assert f"nested too deeply: more than {DEEPEST} levels" in ran.stderr


def test_up_to_the_limit_it_is_read() -> None:
    assert str(load_one("[" * DEEPEST + "]" * DEEPEST)).count("[") == DEEPEST


def test_several_documents_are_not_one() -> None:
    assert load_one("") is None
    with pytest.raises(yaml.YAMLError, match="expected one document; a second one begins at line 3"):
        load_one("a: 1\n---\nb: 2\n")
