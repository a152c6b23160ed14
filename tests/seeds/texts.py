"""The documents this project was born from, where they lie beside it: their manifests and commands, as written."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.guides.transcripts import Step, commands

FOLDER = Path(__file__).parents[3] / "shared" / "seeds"
# Some fences are indented, and some have the first line of a manifest where the name of a language belongs.
_BLOCK = re.compile(r"^[ \t]*```(?:yaml|shell)?[ \t]*\n?(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(# (?=arena |kubectl )|➜ +|(?=kubectl ))", re.MULTILINE)
_COMMENT = re.compile(r"^# (?!arena |kubectl ).*\n", re.MULTILINE)
ANYTHING = "..."  # what a command prints where the document does not show it
Otherwise = Iterable[tuple[str, str]]  # patterns of what a document shows, and what is to be seen instead


def text(number: str) -> str:
    """Skips the test where there are no such documents."""
    found = sorted(FOLDER.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"the documents are not here: no {FOLDER}/{number}_*.txt")
    return found[0].read_text()


def blocks(number: str) -> list[str]:
    return [textwrap.dedent(block) for block in _BLOCK.findall(text(number))]


def code_blocks(number: str, language: str) -> list[str]:
    """Of a document in reStructuredText."""
    marked = re.findall(rf"^\.\. code-block:: {language}\n\n((?:[ \t]+.*\n|\n)+)", text(number), re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") + "\n" for block in marked]


def manifests(number: str) -> list[dict[str, Any]]:
    """Of every block that is one."""
    found = [block for block in blocks(number) if block.startswith("apiVersion:")]
    return [document for block in found for document in yaml.safe_load_all(block)]


def steps(number: str, otherwise: Otherwise) -> list[Step]:
    """Every command with what is shown after it: `arena` is `understudy` here, and nothing else is another command."""
    found: list[Step] = []
    for block in blocks(number):
        if block.startswith("apiVersion:"):
            continue
        typed = _PROMPT.sub("$ ", _COMMENT.sub("", block))
        for command, shown, _ in commands(re.sub(r"\barena\b", "understudy", typed), "$ "):
            found.append(Step(command, _as_here(shown, otherwise) or ANYTHING, len(found)))
    return found


def _as_here(shown: str, otherwise: Otherwise) -> str:
    for pattern, words in otherwise:
        shown = re.sub(pattern, words, shown, flags=re.MULTILINE)
    return shown
