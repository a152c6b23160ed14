"""The present state: records by resource, namespace and name, read one by one or in order."""

from understudy.embedded.store.records import Event, EventType, Key, Record


class Shelf:
    """The records of one resource in one namespace.

    Only a new name puts the dict out of order, so it is sorted when it is next listed, not when it changes."""

    __slots__ = ("records", "sorted")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.sorted = True

    def in_order(self) -> list[Record]:
        if not self.sorted:
            self.records = {name: self.records[name] for name in sorted(self.records)}
            self.sorted = True
        return list(self.records.values())


class Shelves:
    def __init__(self) -> None:
        self._resources: dict[str, dict[str, Shelf]] = {}

    def get(self, key: Key) -> Record | None:
        shelf = self._resources.get(key.resource, {}).get(key.namespace)
        return shelf.records.get(key.name) if shelf else None

    def list(self, resource: str, namespace: str) -> list[Record]:
        """By namespace and name. No namespace: those of all."""
        namespaces = self._resources.get(resource, {})
        if namespace:
            shelf = namespaces.get(namespace)
            return shelf.in_order() if shelf else []
        return [record for name in sorted(namespaces) for record in namespaces[name].in_order()]

    def apply(self, event: Event) -> None:
        key = event.record.key
        namespaces = self._resources.setdefault(key.resource, {})
        shelf = namespaces.get(key.namespace)
        if shelf is None:
            shelf = namespaces[key.namespace] = Shelf()
        if event.type is EventType.DELETED:
            del shelf.records[key.name]
            if not shelf.records:
                del namespaces[key.namespace]
        else:
            shelf.sorted = shelf.sorted and event.type is EventType.MODIFIED
            shelf.records[key.name] = event.record
