"""Documents as YAML for people: keys in the order they were made, text of several lines as such."""

from collections.abc import Iterable
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """A YAML dumper without anchors: what two roles share is written twice."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def as_yaml(documents: Iterable[dict[str, Any]]) -> str:
    written: str = yaml.dump_all(list(documents), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return written
