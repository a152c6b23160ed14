"""YAML as Kubernetes reads it: timestamps and clock times stay text, a key that stands twice is an error.

What is nested too deeply or grows too large by its aliases is refused before it is built, whichever loader reads it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAP, _TIMESTAMP, _INT = "tag:yaml.org,2002:map", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int"
DEEPEST = 500  # levels; nothing that reads the values later runs out of stack on so few
LARGEST_EXPANSION = 4 * 1024 * 1024  # characters that aliases may add: more than the largest request of Kubernetes
_NODE_SIZE = 32  # what every value counts besides its characters, since it costs time even where it is empty
_MERGE = "tag:yaml.org,2002:merge"
# Without YAML 1.1's base sixty, in which 1:30 is the number ninety.
_WHOLE_NUMBER = re.compile(r"^(?:[-+]?0b[0-1_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$")


class DuplicateKey(Exception):
    def __init__(self, key: object, line: int) -> None:
        super().__init__(f"{key}: the key stands twice in one mapping; remove one of them")
        self.line = line


class ExcessiveYaml(yaml.MarkedYAMLError):
    """It is YAML, and to read it would take too much memory, stack or time."""

    def __init__(self, problem: str, node_or_event: Any) -> None:
        super().__init__(problem=problem, problem_mark=node_or_event.start_mark)
        self.line = int(node_or_event.start_mark.line) + 1


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


class Loaded(NamedTuple):
    line: int
    value: object  # None: an empty document
    item_lines: tuple[int, ...]  # where each element of its `items` begins


def load_all(text: str, loader_class: Any = KubernetesLoader) -> Iterator[Loaded]:
    """Every document of the text."""
    if _may_be_deep(text):
        _check_depth(text)
    loader = loader_class(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if "*" in text:
                _check_expansion(node)
            lines = tuple(_item_lines(node))
            yield Loaded(node.start_mark.line + 1, loader.construct_document(node), lines)
    finally:
        loader.dispose()


def load_one(text: str, loader_class: Any = KubernetesLoader) -> Any:
    """The only document of a text; None where it has none."""
    documents = list(load_all(text, loader_class))
    if len(documents) > 1:
        raise yaml.YAMLError(f"expected one document; a second one begins at line {documents[1].line}")
    return documents[0].value if documents else None


def _may_be_deep(text: str) -> bool:
    """A nested block starts further to the right than its parent, so short lines with few brackets nest little."""
    return text.count("[") + text.count("{") > DEEPEST or any(len(line) > DEEPEST for line in text.split("\n"))


def _check_depth(text: str) -> None:
    """By events, which the parser gives one by one. It makes nodes by recursion in C, which ends the process when the
    stack is used up."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise ExcessiveYaml(f"nested too deeply: more than {DEEPEST} levels", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_expansion(root: Any) -> None:
    """Measures every node once, its children first. An alias is the node that it stands for, so it counts again."""
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    written = 0
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in sizes:
            stack.pop()
            continue
        children = _children(node)
        missing = [child for child in children if id(child) not in sizes]
        if missing and id(node) in begun:
            raise ExcessiveYaml("nested without end: an anchor refers to itself", node)
        begun.add(id(node))
        if missing:
            stack.extend(missing)
            continue
        own = _NODE_SIZE + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        written += own
        sizes[id(node)] = own + sum(sizes[id(child)] for child in children)
        if sizes[id(node)] - written > LARGEST_EXPANSION:
            limit = LARGEST_EXPANSION // 1024 // 1024
            raise ExcessiveYaml(f"its aliases stand for more than {limit} MiB; write out what is needed", node)


def _children(node: Any) -> list[Any]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _item_lines(node: Any) -> Iterator[int]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "items" and isinstance(value, yaml.SequenceNode):
                yield from (item.start_mark.line + 1 for item in value.value)
