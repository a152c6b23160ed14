"""One YAML document from a stranger into what JSON can say."""

from typing import Any

import msgspec
import yaml

from understudy.objects.yamls import DuplicateKey, KubernetesLoader, too_deep


class BadYaml(ValueError):
    pass


def load(text: str) -> Any:
    """Aliases are refused: a few lines of them make gigabytes."""
    if too_deep(text):
        raise BadYaml("nested too deeply")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=KubernetesLoader)):
            raise BadYaml("it uses aliases: write out what they stand for")
        value = yaml.load(text, Loader=KubernetesLoader)  # noqa: S506 - a SafeLoader
        return msgspec.json.decode(msgspec.json.encode(_with_text_keys(value)))
    except RecursionError:
        raise BadYaml("nested too deeply") from None
    except (yaml.YAMLError, DuplicateKey, TypeError) as wrong:
        raise BadYaml(str(wrong)) from None


def _with_text_keys(value: Any) -> Any:
    """As deep as the text was: not too deep."""
    match value:
        case dict():
            return {_key(key): _with_text_keys(inner) for key, inner in value.items()}
        case list():
            return [_with_text_keys(inner) for inner in value]
        case _:
            return value


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
