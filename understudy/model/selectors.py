"""Label and field conditions as values: turns a set of labels into yes or no, by Kubernetes' own rules."""

import re
from collections.abc import Mapping

import msgspec

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")  # int() would also take 1_000

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


class Requirement(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One condition on one label. `operator` is one of OPERATORS."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":  # an absent label is not in any list
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
            case _:
                raise ValueError(f"operator {self.operator!r} is none of {', '.join(OPERATORS)}")

    def _compares(self, value: str | None) -> bool:
        texts = (value or "", *self.values[:1])
        if len(texts) < 2 or not all(map(_WHOLE_NUMBER.fullmatch, texts)):
            return False  # anything but a whole number never compares
        left, right = map(int, texts)
        return left > right if self.operator == "Gt" else left < right

    def __str__(self) -> str:
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "Exists" | "DoesNotExist":
                return f"{self.key} {self.operator}"
            case _:
                return f"{self.key} {self.operator} [{', '.join(self.values)}]"


class Selector(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """All requirements must hold; with none, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ", ".join(map(str, self.requirements)) or "everything"


class NodeTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One term of a node affinity: conditions on labels and on the node's name. An empty term matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if not self.labels and not self.fields:
            return False
        by_name = {"metadata.name": name}
        return all(r.matches(labels) for r in self.labels) and all(r.matches(by_name) for r in self.fields)

    def __str__(self) -> str:
        return ", ".join(map(str, self.labels + self.fields)) or "nothing"
