"""A container's environment: turns the variables a pod asks for into names and values, or says what is missing."""

import re
from collections.abc import Iterator, Mapping

from understudy.embedded.agent.api.config_objects import ConfigData, ConfigSource, config_map, secret
from understudy.embedded.agent.api.downward_api import PodFacts, UnsupportedField, field_value, resource_field_value
from understudy.embedded.agent.api.pod_types import Container, EnvFromSource, EnvVarSource, KeyRef, ObjectRef

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^()]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        return "$" if match[1] else values.get(match[2], match[0])

    return _REFERENCE.sub(replacement, text) if "$" in text else text


_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*", re.ASCII)


class BadEnvironment(Exception):
    """What the environment of a container refers to and does not exist."""


def environment(
    facts: PodFacts, container: Container, config_data: ConfigData, given: Mapping[str, str]
) -> dict[str, str]:
    """In the order of Kubernetes: `envFrom` first, then `env`; a value may use the values before it.

    `given` are more variables: values may use them, and the result contains them.
    """
    values = dict(given)
    for group in container.env_from:
        values |= _whole(group, config_data)
    for variable in container.env:
        if variable.value_from is None:
            values[variable.name] = expand(variable.value, values)
        else:
            text = _looked_up(facts, container, variable.value_from, config_data)
            if text is not None:
                values[variable.name] = text
    return values


def _whole(group: EnvFromSource, config_data: ConfigData) -> Iterator[tuple[str, str]]:
    sources: list[tuple[ConfigSource, ObjectRef]] = []
    if group.config_map_ref:
        sources.append((config_map(group.config_map_ref.name), group.config_map_ref))
    if group.secret_ref:
        sources.append((secret(group.secret_ref.name), group.secret_ref))
    for source, ref in sources:
        held = config_data.get(source)
        if held is None and not ref.optional:
            raise BadEnvironment(f"{source} not found")
        for key, value in (held or {}).items():
            if _NAME.fullmatch(group.prefix + key):
                yield group.prefix + key, _text(value)


def _looked_up(facts: PodFacts, container: Container, source: EnvVarSource, config_data: ConfigData) -> str | None:
    """None where an optional source does not exist."""
    try:
        if source.field_ref:
            return field_value(facts, source.field_ref)
        if source.resource_field_ref:
            return resource_field_value(facts, source.resource_field_ref, container)
    except (UnsupportedField, ValueError) as problem:
        raise BadEnvironment(str(problem)) from problem
    if source.config_map_key_ref:
        return _entry(config_map(source.config_map_key_ref.name), source.config_map_key_ref, facts, config_data)
    if source.secret_key_ref:
        return _entry(secret(source.secret_key_ref.name), source.secret_key_ref, facts, config_data)
    return ""


def _entry(source: ConfigSource, ref: KeyRef, facts: PodFacts, config_data: ConfigData) -> str | None:
    held = config_data.get(source)
    if held is not None and ref.key in held:
        return _text(held[ref.key])
    if ref.optional:
        return None
    if held is None:
        raise BadEnvironment(f"{source} not found")
    where = f"{source.resource.kind} {facts.pod.metadata.namespace}/{source.name}"
    raise BadEnvironment(f"couldn't find key {ref.key} in {where}")


def _text(value: bytes) -> str:
    """A variable holds neither invalid UTF-8 nor null bytes."""
    return value.decode(errors="replace").replace("\0", "")
