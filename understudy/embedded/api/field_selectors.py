"""Field selectors: `status.phase!=Running,spec.nodeName=a` into conditions on the selectable fields of a resource."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.embedded.schema.errors import bad_request

MAX_LENGTH = 16_384  # characters, as for label selectors

Path = tuple[str, ...]

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TERM = re.compile(r"(?:\\.|[^\\,])+", re.DOTALL)
_COMPARISON = re.compile(r"((?:\\.|[^\\=!])*?)(!=|==|=)(.*)", re.DOTALL)


class Field(msgspec.Struct, frozen=True):
    """The paths of a selectable field: the first with a value counts. `absent` is the value where none has one."""

    paths: tuple[Path, ...]
    absent: str = ""


class Condition(msgspec.Struct, frozen=True):
    field: Field
    value: str
    equal: bool = True


def _at(*paths: str, absent: str = "") -> Field:
    return Field(tuple(tuple(path.split(".")) for path in paths), absent)


def _plain(*paths: str) -> dict[str, Field]:
    return {path: _at(path) for path in paths}


EVERYWHERE = _plain("metadata.name", "metadata.namespace")

OFFERED: Mapping[str, Mapping[str, Field]] = {
    "pods": {
        **_plain("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        **_plain("status.phase", "status.podIP", "status.nominatedNodeName"),
        "spec.hostNetwork": _at("spec.hostNetwork", absent="false"),
    },
    "events": {
        **_plain("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid"),
        **_plain("involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath"),
        **_plain("reason", "type", "reportingComponent"),
        "source": _at("source.component", "reportingComponent"),
    },
    "nodes": {"spec.unschedulable": _at("spec.unschedulable", absent="false")},
    "jobs.batch": {"status.successful": _at("status.succeeded", absent="0")},
    "secrets": _plain("type"),
    "namespaces": {**_plain("status.phase"), "name": _at("metadata.name")},
}


def parsed(text: str, resource_key: str, selectable: tuple[str, ...] = ()) -> tuple[Condition, ...]:
    """`selectable` are further JSONPaths that a custom resource offers: `.spec.color`."""
    if len(text) > MAX_LENGTH:
        raise bad_request(f"field selector has {len(text)} characters, at most {MAX_LENGTH} are allowed")
    offered = {**EVERYWHERE, **OFFERED.get(resource_key, {}), **_plain(*(path.lstrip(".") for path in selectable))}
    return tuple(_conditions(text, offered))


def _conditions(text: str, offered: Mapping[str, Field]) -> Iterator[Condition]:
    for term in _TERM.findall(text):
        compared = _COMPARISON.fullmatch(term)
        if compared is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        label, operator, value = compared.groups()
        label, value = _unescaped(label), _unescaped(value)
        if label not in offered:
            raise bad_request(f"field label not supported: {label}")
        yield Condition(offered[label], value, operator != "!=")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def as_text(value: Any, absent: str) -> str:
    """The value of a field as selectors write it."""
    match value:
        case None:
            return absent
        case bool():
            return "true" if value else "false"
        case str():
            return value or absent
        case _:
            return str(value)
