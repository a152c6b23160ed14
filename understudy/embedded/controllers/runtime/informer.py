"""All objects of one resource, from the watch, and earlier from the responses to our own requests.

Subscribers see changes in the order of resource versions. A write is visible to them before its caller has the answer.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObjectVersion
from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Clock

log = logging.getLogger(__name__)

Listener = Callable[[ObjectChange], None]
Key = tuple[str, str]  # (namespace, name)

VERIFY_AFTER = 5.0  # seconds after which an object that only an answer told of is looked up
MAX_REMEMBERED_DELETIONS = 10_000  # so that a late answer does not bring a deleted object back


class _CachedObject(msgspec.Struct):
    version: ObjectVersion
    revision: int
    unconfirmed_since: float | None  # None: the watch has told of it

    @property
    def uid(self) -> str:
        return self.version.head.uid


class Subscription:
    """One listener to one resource. It is called with all known objects first, then with every change; `synced` is set
    when all existing objects are known, `ended` has an exception when no more changes will come."""

    def __init__(self, informer: "Informer", listener: Listener) -> None:
        self.synced = asyncio.Event()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._informer = informer
        self._listener = listener

    def deliver(self, change: ObjectChange) -> None:
        if change.type is ChangeType.SYNCED:
            self.synced.set()
        try:
            self._listener(change)
        except Exception as error:
            log.exception("a listener to %s failed", self._informer.resource.key)
            self.end(error)

    def end(self, error: BaseException) -> None:
        self.cancel()
        if not self.ended.done():
            self.ended.set_exception(error)
            self.ended.exception()  # asyncio logs exceptions that are never read; the owner need not read this one

    def cancel(self) -> None:
        self._informer.subscriptions.pop(self, None)


class Informer:
    """The cache of one resource, and its subscribers."""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        self.resource = resource
        self.subscriptions: dict[Subscription, None] = {}
        self.objects: dict[Key, _CachedObject] = {}
        self.synced = False
        self._clock = clock
        self._deleted_uids: dict[str, None] = {}

    def subscribe(self, listener: Listener) -> Subscription:
        subscription = Subscription(self, listener)
        self.subscriptions[subscription] = None
        for known in list(self.objects.values()):
            subscription.deliver(ObjectChange(ChangeType.ADDED, known.version))
        if self.synced:
            subscription.deliver(ObjectChange(ChangeType.SYNCED))
        return subscription

    def on_watch(self, change: Change) -> None:
        match change.type:
            case ChangeType.SYNCED:
                self.synced = True
                self._deliver(ObjectChange(ChangeType.SYNCED))
            case ChangeType.DELETED:
                version = ObjectVersion(change.raw)
                self._remember_deletion(version.head.uid)
                self._remove(version)
            case _:
                self._store(ObjectVersion(change.raw), unconfirmed_since=None)

    def on_answer(self, version: ObjectVersion) -> None:
        """To a request of this process."""
        self._store(version, unconfirmed_since=self._clock.now())

    def unconfirmed(self, now: float) -> list[Key]:
        """Objects that an answer told of and the watch has not for a while."""
        return [
            key
            for key, known in self.objects.items()
            if known.unconfirmed_since is not None and now - known.unconfirmed_since >= VERIFY_AFTER
        ]

    def on_absent(self, key: Key) -> None:
        """The object does not exist. If the watch never told of it, it will not tell of its deletion either."""
        known = self.objects.get(key)
        if known is not None and known.unconfirmed_since is not None:
            self._remember_deletion(known.uid)
            self._remove(known.version)

    def end(self, error: BaseException) -> None:
        for subscription in list(self.subscriptions):
            subscription.end(error)

    def _store(self, version: ObjectVersion, unconfirmed_since: float | None) -> None:
        head, key, revision = version.head, _key(version), _revision(version.head.resource_version)
        if head.uid in self._deleted_uids:
            return
        known = self.objects.get(key)
        if known is not None and known.uid != head.uid:
            if revision < known.revision:
                return
            self._remember_deletion(known.uid)
            self._remove(known.version)
            known = None
        if known is not None and unconfirmed_since is None:
            known.unconfirmed_since = None
        if known is not None and revision <= known.revision:
            return
        if known is not None:  # the watch will tell of the deletion of an object that it told of once
            unconfirmed_since = known.unconfirmed_since
        self.objects[key] = _CachedObject(version, revision, unconfirmed_since)
        self._deliver(ObjectChange(ChangeType.ADDED if known is None else ChangeType.MODIFIED, version))

    def _remove(self, version: ObjectVersion) -> None:
        key = _key(version)
        known = self.objects.get(key)
        if known is not None and known.uid == version.head.uid:
            del self.objects[key]
            self._deliver(ObjectChange(ChangeType.DELETED, version))

    def _remember_deletion(self, uid: str) -> None:
        self._deleted_uids[uid] = None
        if len(self._deleted_uids) > MAX_REMEMBERED_DELETIONS:
            del self._deleted_uids[next(iter(self._deleted_uids))]

    def _deliver(self, change: ObjectChange) -> None:
        for subscription in list(self.subscriptions):
            subscription.deliver(change)


def _key(version: ObjectVersion) -> Key:
    return version.head.namespace, version.head.name


def _revision(text: str) -> int:
    return int(text) if text.isdecimal() else 0
