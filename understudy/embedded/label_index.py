"""Finds the selectors that match an object, and the objects that a selector matches, without a look at all of them.

The time of each answer depends on how many share the rarest of their labels, not on how many there are.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Label = tuple[str, str, str]  # namespace, key, value


def matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """An empty selector matches nothing, as in a Service."""
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _labels(namespace: str, labels: Mapping[str, str]) -> list[Label]:
    return [(namespace, key, value) for key, value in labels.items()]


class _Buckets(Generic[K]):
    def __init__(self) -> None:
        self._members: dict[Label, dict[K, None]] = {}

    def add(self, label: Label, key: K) -> None:
        self._members.setdefault(label, {})[key] = None

    def discard(self, label: Label, key: K) -> None:
        members = self._members.get(label)
        if members is not None:
            members.pop(key, None)
            if not members:
                del self._members[label]

    def rarest(self, labels: Iterable[Label]) -> Label:
        return min(labels, key=lambda label: len(self._members.get(label, ())))

    def of(self, label: Label) -> Iterator[K]:
        yield from self._members.get(label, ())


class LabeledObjects(Generic[K]):
    """Objects by their labels; each object is in the bucket of each of its labels."""

    def __init__(self) -> None:
        self._labels: dict[K, tuple[str, Mapping[str, str]]] = {}
        self._buckets: _Buckets[K] = _Buckets()

    def put(self, key: K, namespace: str, labels: Mapping[str, str]) -> None:
        if self._labels.get(key) == (namespace, labels):
            return
        self.remove(key)
        self._labels[key] = (namespace, labels)
        for label in _labels(namespace, labels):
            self._buckets.add(label, key)

    def remove(self, key: K) -> None:
        namespace, labels = self._labels.pop(key, ("", {}))
        for label in _labels(namespace, labels):
            self._buckets.discard(label, key)

    def matching(self, namespace: str, selector: Mapping[str, str]) -> list[K]:
        if not selector:
            return []
        candidates = self._buckets.of(self._buckets.rarest(_labels(namespace, selector)))
        return [key for key in candidates if matches(selector, self._labels[key][1])]


class LabelSelectors(Generic[K]):
    """Selectors by the labels they ask for; each selector is in the bucket of its rarest label alone."""

    def __init__(self) -> None:
        self._selectors: dict[K, tuple[Label, Mapping[str, str]]] = {}
        self._buckets: _Buckets[K] = _Buckets()

    def put(self, key: K, namespace: str, selector: Mapping[str, str]) -> None:
        self.remove(key)
        if selector:
            label = self._buckets.rarest(_labels(namespace, selector))
            self._selectors[key] = (label, selector)
            self._buckets.add(label, key)

    def remove(self, key: K) -> None:
        known = self._selectors.pop(key, None)
        if known is not None:
            self._buckets.discard(known[0], key)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[K]:
        candidates = (key for label in _labels(namespace, labels) for key in self._buckets.of(label))
        return [key for key in candidates if matches(self._selectors[key][1], labels)]
