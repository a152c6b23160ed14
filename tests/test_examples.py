"""Every example keeps the promise of its header: the plan has exactly the actions its `# expect:` lines name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from understudy.main import main

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted((EXAMPLES / "plan").glob("*.yaml"))


def marked(path: Path, mark: str) -> list[list[str]]:
    lines = path.read_text().splitlines()
    return [line.removeprefix(f"# {mark}:").split() for line in lines if line.startswith(f"# {mark}:")]


def keeps(action: dict[str, Any], promise: list[str]) -> bool:
    """`Swap GANG word …`: the type, the gang, and words found anywhere in the action."""
    kind, gang, *words = promise
    rest = json.dumps(action)
    return action["type"] == kind and action["gang"] == gang and all(word in rest for word in words)


def planned(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    [flags] = marked(path, "flags")
    code = main(["plan", "-f", str(path), "-o", "json", *flags, *more])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return json.loads(printed.out)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_plan_is_what_the_header_promises(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    promises = marked(path, "expect")
    actions = planned(path, capsys)["actions"]
    unkept = [promise for promise in promises if not any(keeps(action, promise) for action in actions)]
    unpromised = [action for action in actions if not any(keeps(action, promise) for promise in promises)]
    assert (unkept, unpromised) == ([], [])
    assert len(actions) == len(promises)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_text_names_every_gang_and_node_of_the_plan(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(path, capsys)
    [flags] = marked(path, "flags")
    assert main(["plan", "-f", str(path), *flags]) == 0
    text = capsys.readouterr().out
    seats = [seat for action in plan["actions"] for seat in action.get("seats", [])]
    assert [word for seat in seats for word in seat if word not in text] == []
    assert [gang["title"] for gang in plan["gangs"].values() if gang["title"] not in text] == []


def test_every_gang_of_every_example_has_a_story(capsys: pytest.CaptureFixture[str]) -> None:
    for path in FILES:
        for key, gang in planned(path, capsys)["gangs"].items():
            assert main(["plan", "-f", str(path), "--explain", key, *marked(path, "flags")[0]]) == 0
            assert gang["title"] in capsys.readouterr().out


def test_the_list_of_examples_is_complete() -> None:
    listed = set(re.findall(r"\(plan/([^)]+)\)", (EXAMPLES / "README.md").read_text()))
    assert listed == {path.name for path in FILES}
