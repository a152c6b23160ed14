"""An error in an object that a user or the cluster gave: which object, which field, and how to fix it."""

import re

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")


class BadObject(Exception):
    """Says in one line which object and field are wrong, and why."""

    def __init__(self, object: str, field: str, problem: str) -> None:  # noqa: A002
        super().__init__(object, field, problem)
        self.object = object
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return ": ".join(part for part in (self.object, self.field, self.problem) if part)


def at(field: str, key: str | int) -> str:
    """The path of an entry within a field: spec.containers[0], requests.cpu, labels[a.b/c]."""
    if isinstance(key, str) and _PLAIN.fullmatch(key):
        return f"{field}.{key}" if field else key
    return f"{field}[{key}]"
