"""ResourceQuotas: a new object has to fit into those of its namespace, and what is used is stored with every change.

The amounts that are used are part of the write that changes them, so they are exact at any moment, also after a crash,
and a new object costs the same however many there are. Only a quota that is new or has changed counts all objects.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from understudy.embedded.api.quota_usage import (
    CHANGING,
    counts,
    pod_fields,
    tracked,
    unstated,
    usage_of,
    used_amounts,
    written,
)
from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.schema.errors import forbidden
from understudy.embedded.schema.served_resource import Draft
from understudy.embedded.schema.types.quotas import ResourceQuota
from understudy.embedded.schema.types.values import Quantity, amount_of
from understudy.embedded.server.registry.store_writes import put
from understudy.embedded.store.records import EventType, Key, Put, Record, StoreEvent
from understudy.embedded.store.store import Store
from understudy.objects.resources import PODS, RESOURCE_QUOTAS, Resource

_Changes = dict[str, Decimal]


class QuotaAccounts:
    """Made once for a server. It follows every write of the store."""

    def __init__(self, store: Store, resources: ServedResources) -> None:
        self._store = store
        served = resources.find(RESOURCE_QUOTAS.group, RESOURCE_QUOTAS.version, RESOURCE_QUOTAS.plural)
        assert served is not None
        self._form = served.form
        self._named: dict[str, dict[str, None]] = {}  # namespace -> names of its quotas; a name may be out of date
        for record in store.list(RESOURCE_QUOTAS.key):
            self._named.setdefault(record.key.namespace, {})[record.key.name] = None
        store.accompany(self.writes_beside)

    def check(self, resource: Resource, key: Key, draft: Draft) -> None:
        """Raises a 403 for a new object that a quota of its namespace does not allow. The caller stores the object
        without an await in between."""
        if key.namespace not in self._named:
            return
        body = draft.encode()
        for _, quota in self._quotas(key.namespace):
            if counts(quota, key.resource, body):
                if key.resource == PODS.key:
                    _check_stated(resource, key, quota, body)
                _check_amounts(resource, key, quota, tracked(quota, usage_of(key.resource, body)))

    def writes_beside(self, events: Sequence[StoreEvent]) -> Sequence[Put]:
        """The changes of quotas that belong to these events."""
        counted: dict[str, list[StoreEvent]] = {}
        anew: set[Key] = set()
        for event in events:
            key = event.record.key
            if key.resource == RESOURCE_QUOTAS.key and event.type is not EventType.DELETED:
                self._named.setdefault(key.namespace, {})[key.name] = None
                if event.type is EventType.ADDED or self._limits_changed(event):
                    anew.add(key)
            if key.namespace in self._named and _changes_amounts(event):
                counted.setdefault(key.namespace, []).append(event)
        namespaces = {*counted, *(key.namespace for key in anew)}
        return [write for name in sorted(namespaces) for write in self._updated(name, counted.get(name, []), anew)]

    def _updated(self, namespace: str, events: list[StoreEvent], anew: set[Key]) -> Iterator[Put]:
        for record, quota in self._quotas(namespace):
            if record.key in anew:
                used = self._counted_anew(quota, namespace)
            else:
                used = used_amounts(quota)
                for event in events:
                    for name, change in _change(quota, event).items():
                        used[name] += change
            hard = quota.spec.hard or {}
            shown = {name: Quantity(written(name, amount)) for name, amount in sorted(used.items())}
            if shown != quota.status.used or hard != quota.status.hard:
                quota.status.hard, quota.status.used = dict(hard), shown
                yield put(record.key, quota)

    def _counted_anew(self, quota: ResourceQuota, namespace: str) -> _Changes:
        used: _Changes = {name: Decimal(0) for name in quota.spec.hard or {}}
        for resource in self._store.resources():
            for record in self._store.list_newest(resource, namespace):
                if counts(quota, resource, record.body):
                    for name, amount in tracked(quota, usage_of(resource, record.body)).items():
                        used[name] += amount
        return used

    def _quotas(self, namespace: str) -> Iterator[tuple[Record, ResourceQuota]]:
        for name in self._named.get(namespace, ()):
            record = self._store.newest(Key(RESOURCE_QUOTAS.key, namespace, name))
            if record is not None:
                quota = self._form.load(record.body)
                assert isinstance(quota, ResourceQuota)
                yield record, quota

    def _limits_changed(self, event: StoreEvent) -> bool:
        before = event.before
        if before is None:
            return True
        new, old = self._form.load(event.record.body), self._form.load(before.body)
        assert isinstance(new, ResourceQuota)
        assert isinstance(old, ResourceQuota)
        return new.spec != old.spec


def _changes_amounts(event: StoreEvent) -> bool:
    return event.type is not EventType.MODIFIED or event.record.key.resource in CHANGING


def _change(quota: ResourceQuota, event: StoreEvent) -> _Changes:
    """By how much the event changes what is used."""
    change: _Changes = {}
    after = None if event.type is EventType.DELETED else event.record
    for sign, record in ((1, after), (-1, event.before)):
        if record is not None and counts(quota, record.key.resource, record.body):
            for name, amount in tracked(quota, usage_of(record.key.resource, record.body)).items():
                change[name] = change.get(name, Decimal(0)) + sign * amount
    return {name: amount for name, amount in change.items() if amount}


def _check_stated(resource: Resource, key: Key, quota: ResourceQuota, body: bytes) -> None:
    missing = unstated(quota, pod_fields(body))
    if missing:
        said = "; ".join(f"{name} for: {','.join(names)}" for name, names in sorted(missing.items()))
        why = f"failed quota: {quota.metadata.name}: must specify {said}"
        raise forbidden(resource.plural, resource.group, key.name, why)


def _check_amounts(resource: Resource, key: Key, quota: ResourceQuota, wanted: Mapping[str, Decimal]) -> None:
    used, hard = used_amounts(quota), {name: amount_of(much) for name, much in (quota.spec.hard or {}).items()}
    beyond = sorted(name for name, amount in wanted.items() if used[name] + amount > hard[name])
    if beyond:
        requested, taken, limited = (
            ",".join(f"{name}={written(name, amounts[name])}" for name in beyond) for amounts in (wanted, used, hard)
        )
        why = f"exceeded quota: {quota.metadata.name}, requested: {requested}, used: {taken}, limited: {limited}"
        raise forbidden(resource.plural, resource.group, key.name, why)
