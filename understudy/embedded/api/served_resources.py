"""The resources that are served now: the built-in ones, and those of CustomResourceDefinitions."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from understudy.embedded.schema.served_resource import ServedResource

T = TypeVar("T")


class ServedResources:
    def __init__(self, builtin: Iterable[ServedResource]) -> None:
        self._builtin = tuple(builtin)
        self._custom: dict[str, ServedResource] = {}
        self._found: dict[tuple[str, str], dict[str, ServedResource]] = {}
        self._derived: dict[Callable[[Iterable[ServedResource]], Any], Any] = {}
        self._index()

    def derived(self, make: Callable[[Iterable[ServedResource]], T]) -> T:
        """The result of `make` on all served resources, cached until one changes."""
        if make not in self._derived:
            self._derived[make] = make(self.all)
        found: T = self._derived[make]
        return found

    @property
    def all(self) -> tuple[ServedResource, ...]:
        return (*self._builtin, *(self._custom[name] for name in sorted(self._custom)))

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._found.get((group, version), {}).get(plural)

    def is_custom(self, served: ServedResource) -> bool:
        return served.resource.key in self._custom

    def may_define(self, key: str) -> bool:
        """Whether a definition may serve this resource: no built-in resource has its name."""
        return all(served.resource.key != key for served in self._builtin)

    def put(self, served: ServedResource) -> None:
        self._custom[served.resource.key] = served
        self._index()

    def remove(self, key: str) -> None:
        if self._custom.pop(key, None) is not None:
            self._index()

    def keep_only(self, keys: Collection[str]) -> None:
        """Removes all other custom resources."""
        self._custom = {key: served for key, served in self._custom.items() if key in keys}
        self._index()

    def _index(self) -> None:
        found: dict[tuple[str, str], dict[str, ServedResource]] = {}
        for served in self.all:
            resource = served.resource
            for version in (resource.version, *served.other_versions):
                found.setdefault((resource.group, version), {})[resource.plural] = served
        self._found = found
        self._derived = {}
