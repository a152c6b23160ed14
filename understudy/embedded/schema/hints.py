"""What somebody may have meant who wrote a field that is not known there."""

import difflib
from collections.abc import Collection
from typing import Protocol

_PLACES = ("template.spec", "spec.template.spec", "spec", "template", "metadata")


class Known(Protocol):
    """The fields of one object, with what is below them."""

    def names(self) -> Collection[str]: ...

    def below(self, name: str) -> "Known | None": ...


def meant(fields: Known, name: str) -> str:
    """The path, from the object that has the unknown field, of the one that was probably meant; '' if nobody knows."""
    if name == "spec" and _at(fields, "template.spec"):
        return "template.spec"
    for place in _PLACES:
        there = _at(fields, place)
        if there is not None and name in there.names():
            return f"{place}.{name}"
    return _alike(fields.names(), name)


def _at(fields: Known, place: str) -> Known | None:
    found: Known | None = fields
    for step in place.split("."):
        found = found.below(step) if found is not None else None
    return found


def _alike(names: Collection[str], name: str) -> str:
    same = [known for known in names if known.lower() == name.lower()]
    close = same or difflib.get_close_matches(name[:64], names, n=1, cutoff=0.8)
    return close[0] if close else ""
