"""`--set PATH=VALUE`: sets fields of a document, as a new document. A value of null takes a field away.

`spec.runPolicy.backoffLimit=3`, `spec.template.spec.containers[0].image=x`, `metadata.labels["example.com/team"]=a`.
"""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.submit.request import Document

Step = str | int
_STEP = re.compile(r'(?:^|\.)(?P<key>(?:\\.|[^.\[\]="\\])+)|\[(?P<index>\d+)\]|\["(?P<quoted>[^"]+)"\]')


def set_fields(document: Document, settings: Iterable[str]) -> Document:
    made: Document = copy_document(document)
    for text in settings:
        steps, value = parse_setting(text)
        _put(made, steps, value, text)
    return made


def copy_document(value: Any) -> Any:
    """A copy in which no two places share an object, as with a YAML anchor: one may change without the other."""
    if isinstance(value, dict):
        return {key: copy_document(inner) for key, inner in value.items()}
    return [copy_document(inner) for inner in value] if isinstance(value, list) else value


def parse_setting(text: str) -> tuple[list[Step], Any]:
    steps: list[Step] = []
    at = 0
    while at < len(text) and text[at] != "=":
        match = _STEP.match(text, at)
        if match is None:
            raise BadInput(
                f"--set {text}: {text[at:]!r} is no part of a path; write it like spec.template[0].name=value"
            )
        steps.append(_step(match))
        at = match.end()
    if at == len(text) or not steps:
        raise BadInput(f"--set {text}: not of the form PATH=VALUE")
    return steps, _value(text[at + 1 :], text)


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"])
    return match["quoted"] or re.sub(r"\\(.)", r"\1", match["key"])


def _value(written: str, text: str) -> Any:
    """Reads the text as YAML does: 3 is a number, true is a boolean, [a, b] is a list, anything else text."""
    import yaml

    from understudy.objects.yaml_reader import DuplicateKey, load_all

    try:
        found = [loaded.value for loaded in load_all(written)]
    except (yaml.YAMLError, DuplicateKey, RecursionError):
        raise BadInput(f"--set {text}: {written!r} is not YAML; put text with special characters in quotes") from None
    return found[0] if len(found) == 1 else written


def _put(document: Document, steps: list[Step], value: Any, text: str) -> None:
    holder: Any = document
    for step, following in itertools.pairwise(steps):
        holder = _within(holder, step, [] if isinstance(following, int) else {}, text)
    last = steps[-1]
    if isinstance(last, str) and isinstance(holder, dict):
        holder.pop(last, None)
        if value is not None:
            holder[last] = value
        return
    _within(holder, last, None, text)
    holder[last] = value


def _within(holder: Any, step: Step, empty: Any, text: str) -> Any:
    """The value at this step of the path, created as `empty` where it is missing. A list grows at its end only."""
    if isinstance(holder, dict) and isinstance(step, str):
        if holder.get(step) is None:
            holder[step] = empty
        return holder[step]
    if isinstance(holder, list) and isinstance(step, int):
        if step > len(holder):
            raise BadInput(f"--set {text}: [{step}] lies beyond the end; the list has {len(holder)} elements")
        if step == len(holder):
            holder.append(empty)
        return holder[step]
    shape = "a mapping" if isinstance(holder, dict) else "a list" if isinstance(holder, list) else "a plain value"
    raise BadInput(f"--set {text}: {step!r} does not go into {shape}")
