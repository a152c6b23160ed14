"""YAML as Kubernetes reads it: timestamps and clock times stay text, a key that stands twice is an error."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAP, _TIMESTAMP, _INT = "tag:yaml.org,2002:map", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int"
DEEPEST = 1000
_MERGE = "tag:yaml.org,2002:merge"
# Without YAML 1.1's base sixty, in which 1:30 is the number ninety.
_WHOLE_NUMBER = re.compile(r"^(?:[-+]?0b[0-1_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$")


class DuplicateKey(Exception):
    def __init__(self, key: object, line: int) -> None:
        super().__init__(f"{key}: the key stands twice in one mapping; remove one of them")
        self.line = line


class KubernetesLoader(_Loader):  # type: ignore[misc]
    """A safe loader for text from anywhere."""


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    kept: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for first, pairs in _Loader.yaml_implicit_resolvers.items():
        kept[first] = [(tag, _WHOLE_NUMBER if tag == _INT else regexp) for tag, regexp in pairs if tag != _TIMESTAMP]
    return kept


def _mapping(loader: Any, node: Any) -> Iterator[dict[object, object]]:
    made: dict[object, object] = {}
    yield made  # before it is filled, so that an anchor inside may refer to it
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if key.tag == _MERGE or not isinstance(key.value, str):
            continue
        if (key.tag, key.value) in seen:
            raise DuplicateKey(key.value, key.start_mark.line + 1)
        seen.add((key.tag, key.value))
    made.update(loader.construct_mapping(node))


KubernetesLoader.yaml_implicit_resolvers = _resolvers()
KubernetesLoader.add_constructor(_MAP, _mapping)


def too_deep(text: str) -> bool:
    """Whether it nests so deeply, by brackets or indentation, that the parser, which is C and recursive, would run out
    of stack."""
    if text.count("[") + text.count("{") > DEEPEST and _deepest_bracket(text) > DEEPEST:
        return True
    return any(len(line) - len(line.lstrip(" -?")) > 2 * DEEPEST for line in text.splitlines())


def _deepest_bracket(text: str) -> int:
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


class Loaded(NamedTuple):
    line: int
    value: object  # None: an empty document
    item_lines: tuple[int, ...]  # where each element of its `items` begins


def load_all(text: str) -> Iterator[Loaded]:
    """Every document of the text."""
    loader = KubernetesLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            lines = tuple(_item_lines(node))
            yield Loaded(node.start_mark.line + 1, loader.construct_document(node), lines)
    finally:
        loader.dispose()


def load_one(text: str) -> Any:
    """The only document of a text."""
    [document] = load_all(text)
    return document.value


def _item_lines(node: Any) -> Iterator[int]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "items" and isinstance(value, yaml.SequenceNode):
                yield from (item.start_mark.line + 1 for item in value.value)
