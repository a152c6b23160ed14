"""The reference names every flag there is, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

from understudy.cli.verbs.parser import root_parser

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "submit.md"
OLD = re.compile(r"--[a-z]+[A-Z]")  # spellings that Arena has given up, taken and not advertised
KEPT = {"--hostNetwork", "--hostIPC", "--hostPID"}


def flags_of(*verbs: str) -> Iterator[str]:
    """The long flags of verbs and all that stand below them."""
    subparsers = next(action for action in root_parser()._actions if action.dest in ("verb", "==SUPPRESS=="))
    assert isinstance(subparsers.choices, dict)
    waiting = [subparsers.choices[verb] for verb in verbs]
    for verb in waiting:
        verb.load()
    while waiting:
        for action in waiting.pop()._actions:
            yield from (flag for flag in action.option_strings if flag.startswith("--"))
            waiting += action.choices.values() if isinstance(action.choices, dict) else ()


def test_the_reference_names_every_flag() -> None:
    known = {flag for flag in flags_of("submit", "apply", "priority") if flag in KEPT or not OLD.match(flag)}
    written = set(re.findall(r"--[a-zA-Z][a-zA-Z-]*", PAGE.read_text()))
    unadvertised = {"--help", "--filename", "--output", "--host-ipc", "--host-pid"}
    assert known - written == unadvertised
    assert written - known == {"--type", "--epochs", "--note"} & written
