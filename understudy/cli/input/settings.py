"""Reads understudy.yaml and UNDERSTUDY_* variables into the settings of the components, with the origin of each.

An unknown key is an error. A variable goes before the file, the file before the default.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar, get_args

import msgspec

from understudy.cli.errors import BadInput, suggestion
from understudy.cli.input.documents import Text, load_text, mappings
from understudy.control.apply.provisioning_documents import AutoscalerSettings
from understudy.control.view.node_health import HealthLimits
from understudy.decide.policy import Policy
from understudy.embedded.ended_pods import EndedPodLimits
from understudy.kube.settings import KubeSettings

S = TypeVar("S", bound=msgspec.Struct)

FILE_VARIABLE = "UNDERSTUDY_SETTINGS"  # the file, where no option names it
DEFAULT = "default"
_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "policy": Policy,
    "health": HealthLimits,
    "kube": KubeSettings,
    "autoscaler": AutoscalerSettings,
    "logs": EndedPodLimits,
}
EVERYWHERE = ("policy", "health", "logs")  # the sections that mean something in an embedded cluster


class Settings(msgspec.Struct, frozen=True):
    policy: Policy = Policy()
    health: HealthLimits = HealthLimits()
    kube: KubeSettings = KubeSettings()
    autoscaler: AutoscalerSettings = AutoscalerSettings()
    logs: EndedPodLimits = EndedPodLimits()


class Origin(msgspec.Struct, frozen=True):
    """One setting: its value, and where it is from."""

    key: str  # policy.minRuntime
    value: Any
    source: str


def read(path: str | None, environment: Mapping[str, str] = os.environ) -> Settings:
    path = path or environment.get(FILE_VARIABLE) or None
    sections = _of_file(path) if path else {}
    settings = Settings(
        policy=_section(path or "", "policy", sections, Policy),
        health=_section(path or "", "health", sections, HealthLimits),
        kube=_section(path or "", "kube", sections, KubeSettings),
        autoscaler=_section(path or "", "autoscaler", sections, AutoscalerSettings),
        logs=_section(path or "", "logs", sections, EndedPodLimits),
    )
    given = _of_environment(environment)
    found = Settings(
        policy=msgspec.structs.replace(settings.policy, **_values(given, "policy")),
        health=msgspec.structs.replace(settings.health, **_values(given, "health")),
        kube=msgspec.structs.replace(settings.kube, **_values(given, "kube")),
        autoscaler=msgspec.structs.replace(settings.autoscaler, **_values(given, "autoscaler")),
        logs=msgspec.structs.replace(settings.logs, **_values(given, "logs")),
    )
    for section, checked in (("kube", found.kube), ("autoscaler", found.autoscaler)):
        if problem := checked.problem():
            raise BadInput(f"{path or 'the environment'}: {section}.{problem}")
    return found


def origins(path: str | None, environment: Mapping[str, str] = os.environ) -> list[Origin]:
    """All settings there are, in the order of the reference. Raises BadInput as `read` does."""
    variables = {(one.section, one.key): one.variable for one in _of_environment(environment)}
    file = path or environment.get(FILE_VARIABLE) or None
    sections = _of_file(file) if file else {}
    place = f"{file} (--settings)" if path else f"{file} ({FILE_VARIABLE})"

    def source(section: str, key: str) -> str:
        in_file = key in (sections.get(section) or {})
        return variables.get((section, key)) or (place if in_file else DEFAULT)

    return settings_with_origins(read(path, environment), source)


def settings_with_origins(
    settings: Settings, source: Callable[[str, str], str], sections: Collection[str] = tuple(_SECTIONS)
) -> list[Origin]:
    """Every setting; `source` maps a section and a key to the origin of the setting."""
    return [
        Origin(
            f"{section}.{field.encode_name}",
            msgspec.to_builtins(getattr(getattr(settings, section), field.name)),
            source(section, field.encode_name),
        )
        for section, struct in _SECTIONS.items()
        if section in sections
        for field in msgspec.structs.fields(struct)
    ]


def given(path: str | None, environment: Mapping[str, str] = os.environ) -> dict[str, dict[str, Any]] | None:
    """The settings that are not the default and apply everywhere, by section and key. None if no settings were given,
    not even an empty file."""
    found = origins(path, environment)
    chosen = [one for one in found if one.source != DEFAULT and one.key.startswith(EVERYWHERE)]
    if not chosen and not path and not environment.get(FILE_VARIABLE):
        return None
    sections: dict[str, dict[str, Any]] = {}
    for one in chosen:
        section, _, key = one.key.partition(".")
        sections.setdefault(section, {})[key] = one.value
    return sections


# The file


def of_text(text: Text) -> Settings:
    """The settings in a text. Variables of the environment do not count."""
    sections = _of_text(text)
    made: dict[str, Any] = {name: _section(text.source, name, sections, kind) for name, kind in _SECTIONS.items()}
    return Settings(**made)


def _of_file(path: str) -> dict[str, Any]:
    return _of_text(Text(path, load_text(path)))


def _of_text(text: Text) -> dict[str, Any]:
    found = mappings(text)
    if len(found) > 1:
        raise BadInput(f"{text.source}: {len(found)} documents; settings are one")
    sections = found[0] if found else {}
    _known_keys(text.source, "", sections, Settings)
    return sections


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
        raise BadInput(f"{path}: {_placed(name, str(error), struct)}") from None


def _known_keys(path: str, prefix: str, values: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for key in values:
        if key not in known:
            raise BadInput(f"{path}: {prefix}{key}: no such setting; {suggestion(str(key), known, 'there are')}")


def _placed(section: str, problem: str, wanted: Any) -> str:
    """msgspec's `Expected X, got Y - at `$.a`` as `section.a: expected X, got Y`; of a key it says `key` in `$.a``.
    An unknown field of a rule in a list offers the near ones."""
    what, _, where = problem.partition(" - at ")
    field = where.rpartition(" in ")[2].strip("`").removeprefix("$")
    key = "key: " if where.startswith("`key` in ") else ""
    return f"{section}{field}: {key}{what[:1].lower()}{what[1:]}{_near_fields(what, field, wanted)}"


def _near_fields(problem: str, place: str, wanted: Any) -> str:
    """`wanted` is a section and `place` a key of it, such as `.spares[0]`; or the type of one setting."""
    unknown = re.search("unknown field `(.*)`", problem)
    if unknown is None:
        return ""
    key = re.search(r"\w+", place.partition("[")[0])
    if key is not None:
        wanted = next(one.type for one in msgspec.structs.fields(wanted) if one.encode_name == key[0])
    rules = next((one for one in get_args(wanted) if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
    if rules is None:
        return ""
    known = [field.encode_name for field in msgspec.structs.fields(rules)]
    return f"; {suggestion(unknown[1], known, 'there are')}"


# The environment


class _Given(msgspec.Struct, frozen=True):
    variable: str
    section: str
    key: str
    field: str
    value: Any


def variable_of(section: str, key: str) -> str:
    """policy, minRuntime: UNDERSTUDY_POLICY_MIN_RUNTIME."""
    snake = re.sub("([A-Z])", r"_\1", key)
    return f"UNDERSTUDY_{section}_{snake}".upper()


def _of_environment(environment: Mapping[str, str]) -> list[_Given]:
    known = {
        variable_of(section, field.encode_name): (section, field)
        for section, struct in _SECTIONS.items()
        for field in msgspec.structs.fields(struct)
    }
    found = []
    for variable, text in environment.items():
        if not variable.startswith(tuple(f"UNDERSTUDY_{section.upper()}_" for section in _SECTIONS)):
            continue
        if variable not in known:
            raise BadInput(f"{variable}: no such setting; {suggestion(variable, known, 'there are')}")
        section, field = known[variable]
        found.append(_Given(variable, section, field.encode_name, field.name, _converted(variable, text, field.type)))
    return found


_WORDS = {float: "a number", int: "a whole number", bool: "true or false", dict[str, str]: "a mapping as JSON"}


def _converted(variable: str, text: str, wanted: Any) -> Any:
    """Numbers, true and false, and lists as JSON; anything else is text."""
    try:
        if isinstance(wanted, type) and issubclass(wanted, str):
            return msgspec.convert(text, wanted)
        return msgspec.json.decode(text, type=wanted)
    except msgspec.ValidationError as error:
        raise BadInput(f"{variable}={text}: {_placed('', str(error), wanted).lstrip(': ')}") from None
    except msgspec.DecodeError:
        words = _WORDS.get(wanted, "a list as JSON")
        raise BadInput(f"{variable}={text}: expected {words}") from None


def _values(given: list[_Given], section: str) -> dict[str, Any]:
    return {one.field: one.value for one in given if one.section == section}
