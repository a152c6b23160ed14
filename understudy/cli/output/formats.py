"""The output formats of -o: JSON, YAML and names, for programs."""

import json
import sys
from collections.abc import Sequence

FORMS = ("wide", "json", "yaml", "name")


def print_as(form: str, value: object, names: Sequence[str]) -> bool:
    """Prints the value if `form` is a form for programs. Returns whether it did."""
    if form == "name":
        sys.stdout.write("".join(f"{name}\n" for name in names))
    elif form in ("json", "yaml"):
        sys.stdout.write(dump(value, form))
    return form in ("name", "json", "yaml")


def dump(value: object, form: str) -> str:
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
