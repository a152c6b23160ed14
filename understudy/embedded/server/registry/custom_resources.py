"""Custom resources: served as soon as their definition is stored, and deleted with it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence

from msgspec import UNSET

from understudy.embedded.schema.custom.definitions import served_by
from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition
from understudy.embedded.server.registry.admission import CLEANUP
from understudy.embedded.server.registry.delete import mark_for_deletion
from understudy.embedded.server.registry.graceful_deletion import DeleteOptions
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import remove
from understudy.embedded.server.registry.update import store_draft, write_of
from understudy.embedded.store.records import Compacted, EventType, Key, Record, StoreEvent, Write, WriteFailed
from understudy.embedded.store.subscriptions import Subscription
from understudy.objects.resources import DEFINITIONS

_RETRY_SECONDS = 1.0
log = logging.getLogger(__name__)


class CustomResources:
    """Follows the definitions in the store. Watchers are woken before the writer gets its response, so the writer of a
    definition finds its kind served."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._cleaning: dict[str, asyncio.Task[None]] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def following(cls, state: ServerState) -> AsyncIterator[None]:
        definitions = cls(state)
        subscription = definitions._load()
        following = asyncio.create_task(definitions._follow(subscription))
        try:
            yield
        finally:
            tasks = [following, *definitions._cleaning.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _load(self) -> Subscription:
        """Serves exactly the stored definitions. Returns a subscription to the changes after them."""
        records = self._state.store.list(DEFINITIONS.key)
        self._state.resources.keep_only({record.key.name for record in records})
        for record in records:
            self._apply(StoreEvent(EventType.ADDED, record, None))
        return self._state.store.watch(DEFINITIONS.key)

    async def _follow(self, subscription: Subscription) -> None:
        while not subscription.ended:
            try:
                for event in await subscription.take():
                    self._apply(event)
            except Compacted:
                subscription = self._load()

    def _apply(self, event: StoreEvent) -> None:
        name = event.record.key.name
        try:
            if event.type is EventType.DELETED:
                self._state.resources.remove(name)
            else:
                self._put(event.record)
        except Exception:
            log.exception("the definition %s cannot be served", name)

    def _put(self, record: Record) -> None:
        name = record.key.name
        definition = self._state.served(DEFINITIONS).form.load(record.body)
        assert isinstance(definition, CustomResourceDefinition)
        served = served_by(definition)
        self._state.resources.remove(name)
        for one in served:
            self._state.resources.put(one)
        meta = definition.metadata
        if meta.deletion_timestamp is not UNSET and CLEANUP in (meta.finalizers or ()) and name not in self._cleaning:
            self._cleaning[name] = asyncio.create_task(self._clean(record.key, served))
            self._cleaning[name].add_done_callback(lambda _: self._cleaning.pop(name))

    async def _clean(self, key: Key, served: Sequence[ServedResource]) -> None:
        """Until the last object is deleted; finalizers may hold some of them for a while."""
        while True:
            news = self._state.store.watch(key.name)
            records = self._state.newest_of(key.name, "")
            writes = [write for record in records for write in self._removal(record, served)]
            try:
                if not records:
                    await self._release(key)
                    return
                await (self._state.store.submit(writes) if writes else news.take())
            except Compacted:
                continue
            except WriteFailed as failed:
                log.error("objects of %s cannot be deleted: %s", key.name, failed)
                await asyncio.sleep(_RETRY_SECONDS)

    def _removal(self, record: Record, served: Sequence[ServedResource]) -> Sequence[Write]:
        if not served:  # no version is served, so no client could remove a finalizer
            return [remove(record)]
        draft = mark_for_deletion(served[0], record, DeleteOptions(), self._state.now())
        draft.metadata.resource_version = str(record.revision)
        return [] if draft.encode() == record.body else [write_of(record, draft)]

    async def _release(self, key: Key) -> None:
        record = self._state.store.newest(key)
        if record is None:
            return
        draft = self._state.served(DEFINITIONS).form.load(record.body)
        draft.metadata.finalizers = [name for name in draft.metadata.finalizers or () if name != CLEANUP] or UNSET
        await store_draft(self._state, record, draft)
