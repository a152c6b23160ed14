"""One YAML document from a stranger into what JSON can say."""

from typing import Any

import msgspec
import yaml

from understudy.objects.yaml_reader import DuplicateKey, load_one


class BadYaml(ValueError):
    pass


def load(text: str) -> Any:
    """Aliases are written out, as far as what they stand for is not too much."""
    try:
        return msgspec.json.decode(msgspec.json.encode(_with_text_keys(load_one(text))))
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
