"""Subscriptions: each reads the history at its own pace, and waits at its end for new events of its resource."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Self

from understudy.embedded.store.records import Compacted, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent, WatchHistory


class Feed:
    """The history, and the subscriptions that wait at its end."""

    def __init__(self, history: WatchHistory) -> None:
        self.history = history
        self.ended = False
        self.waiting: defaultdict[str, dict[Subscription, None]] = defaultdict(dict)

    def publish(self, events: Sequence[StoreEvent]) -> list[CompactedEvent]:
        forgotten = self.history.append(events)
        for resource in {event.record.key.resource for event in events}:
            self._wake(resource)
        return forgotten

    def end(self) -> None:
        self.ended = True
        for resource in list(self.waiting):
            self._wake(resource)

    def _wake(self, resource: str) -> None:
        for subscription in self.waiting.pop(resource, ()):
            subscription.wake()


class Subscription:
    """The events of one resource for one reader, in order and each once. It keeps its position, not the events, so a
    slow reader costs no memory. A reader that falls behind the history gets Compacted."""

    def __init__(self, feed: Feed, resource: str, since: int) -> None:
        self._feed = feed
        self._resource = resource
        self._taken = since
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def ended(self) -> bool:
        """No more events: the store or the subscription was closed."""
        return self._closed or self._feed.ended

    @property
    def revision(self) -> int:
        """All events up to this revision were taken: another watch can resume from it."""
        history = self._feed.history
        return self._taken if history.last(self._resource) > self._taken else history.revision

    async def take(self, within: float | None = None) -> list[StoreEvent]:
        """The next events; empty after `within` seconds or at the end. Raises Compacted."""
        events = self._not_taken()
        if not events and not self.ended:
            await self._wait(within)
            events = self._not_taken()
        if events:
            self._taken = events[-1].record.revision
        return events

    def close(self) -> None:
        self._closed = True
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StoreEvent]:
        if events := await self.take():
            return events
        raise StopAsyncIteration

    def _not_taken(self) -> list[StoreEvent]:
        if self.ended:
            return []
        try:
            return self._feed.history.after(self._resource, self._taken)
        except Compacted:
            self._closed = True
            raise

    async def _wait(self, within: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        self._feed.waiting[self._resource][self] = None
        timer = None if within is None else loop.call_later(within, self.wake)
        try:
            await self._waiter
        finally:
            self._feed.waiting[self._resource].pop(self, None)
            if timer is not None:
                timer.cancel()
