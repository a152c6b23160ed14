"""YAML from strangers into what JSON can say, read as Kubernetes does: times stay text, no key stands twice."""

import re
from typing import Any

import msgspec
import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAP, _INT, _TIMESTAMP = "tag:yaml.org,2002:map", "tag:yaml.org,2002:int", "tag:yaml.org,2002:timestamp"
# Without YAML 1.1's base sixty, in which 1:30 is the number ninety.
_WHOLE_NUMBER = re.compile(r"^(?:[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$")
_DEEPEST = 1000  # the parser is C and recursive, and not all builds of it stop in time


class BadYaml(ValueError):
    pass


class _PlainLoader(_Loader):  # type: ignore[misc]
    pass


def load(text: str) -> Any:
    """Aliases are refused: a few lines of them make gigabytes."""
    if _nests_too_deeply(text):
        raise BadYaml("nested too deeply")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_PlainLoader)):
            raise BadYaml("it uses aliases: write out what they stand for")
        value = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a SafeLoader
        return msgspec.json.decode(msgspec.json.encode(value))
    except (yaml.YAMLError, TypeError) as wrong:
        raise BadYaml(str(wrong)) from None


def _mapping(loader: Any, node: Any) -> dict[str, Any]:
    seen = set()
    for key, _ in node.value:
        if isinstance(key.value, str):
            if (key.tag, key.value) in seen:
                raise BadYaml(f"line {key.start_mark.line + 1}: the key {key.value} stands twice in one mapping")
            seen.add((key.tag, key.value))
    return {_key(key): value for key, value in loader.construct_mapping(node, deep=True).items()}


def _key(key: object) -> str:
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
        case _:
            raise BadYaml("a key is neither text nor a number")


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, _WHOLE_NUMBER if tag == _INT else pattern) for tag, pattern in pairs if tag != _TIMESTAMP]
    for first, pairs in _Loader.yaml_implicit_resolvers.items()
}
_PlainLoader.add_constructor(_MAP, _mapping)


def _nests_too_deeply(text: str) -> bool:
    """By its brackets and its indentation, which is all there is to nest YAML with."""
    if text.count("[") + text.count("{") > _DEEPEST and _deepest_bracket(text) > _DEEPEST:
        return True
    return any(len(line) - len(line.lstrip(" -?")) > 2 * _DEEPEST for line in text.splitlines())


def _deepest_bracket(text: str) -> int:
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
