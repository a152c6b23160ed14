"""Reads understudy.yaml into the values the parts are set with; a key nobody knows is an error, not a shrug."""

from typing import Any, TypeVar

import msgspec

from understudy.cli.complaint import BadInput, suggestion
from understudy.cli.documents import Text, load_text, mappings
from understudy.control.health import HealthLimits
from understudy.decide.policy import Policy

S = TypeVar("S", bound=msgspec.Struct)


class Settings(msgspec.Struct, frozen=True):
    policy: Policy = Policy()
    health: HealthLimits = HealthLimits()


def read(path: str | None) -> Settings:
    if path is None:
        return Settings()
    found = mappings(Text(path, load_text(path)))
    if len(found) > 1:
        raise BadInput(f"{path}: {len(found)} documents; settings are one")
    sections = found[0] if found else {}
    _known_keys(path, "", sections, Settings)
    return Settings(
        policy=_section(path, "policy", sections, Policy),
        health=_section(path, "health", sections, HealthLimits),
    )


def _section(path: str, name: str, sections: dict[str, Any], struct: type[S]) -> S:
    values = sections.get(name)
    if values is None:
        return struct()
    if not isinstance(values, dict):
        raise BadInput(f"{path}: {name}: expected settings, one `key: value` a line")
    _known_keys(path, f"{name}.", values, struct)
    try:
        return msgspec.convert(values, struct)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {_placed(name, str(error))}") from None


def _known_keys(path: str, prefix: str, values: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for key in values:
        if key not in known:
            raise BadInput(f"{path}: {prefix}{key}: no such setting; {suggestion(str(key), known, 'there are')}")


def _placed(section: str, problem: str) -> str:
    """msgspec's `Expected X, got Y - at `$.a`` as `section.a: expected X, got Y`."""
    what, _, where = problem.partition(" - at ")
    field = where.strip("`").removeprefix("$")
    return f"{section}{field}: {what[:1].lower()}{what[1:]}"
