"""Watches: each goes through the history at its own pace, and waits at its end for something new of its resource."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Self

from understudy.embedded.store.records import Compacted, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent, WatchHistory


class Feed:
    """The history, and the subscriptions that have come to its end."""

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
    """The events of one resource, in order and each once, for one reader. It keeps its place, not the events, so that a
    slow one costs nothing; one that the history has moved past ends with Compacted."""

    def __init__(self, feed: Feed, resource: str, since: int) -> None:
        self._feed = feed
        self._resource = resource
        self._seen = since
        self._closed = False
        self._woken: asyncio.Future[None] | None = None

    @property
    def ended(self) -> bool:
        """Nothing more will come: the store or the subscription was closed."""
        return self._closed or self._feed.ended

    @property
    def revision(self) -> int:
        """Everything up to here has been told: another watch can go on from it."""
        history = self._feed.history
        return self._seen if history.last(self._resource) > self._seen else history.revision

    async def take(self, within: float | None = None) -> list[StoreEvent]:
        """The next events; none where `within` seconds were not enough, or it has ended. Raises Compacted."""
        events = self._unseen()
        if not events and not self.ended:
            await self._news(within)
            events = self._unseen()
        if events:
            self._seen = events[-1].record.revision
        return events

    def close(self) -> None:
        self._closed = True
        self.wake()

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StoreEvent]:
        if events := await self.take():
            return events
        raise StopAsyncIteration

    def _unseen(self) -> list[StoreEvent]:
        if self.ended:
            return []
        try:
            return self._feed.history.after(self._resource, self._seen)
        except Compacted:
            self._closed = True
            raise

    async def _news(self, within: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._woken = loop.create_future()
        self._feed.waiting[self._resource][self] = None
        timer = None if within is None else loop.call_later(within, self.wake)
        try:
            await self._woken
        finally:
            self._feed.waiting[self._resource].pop(self, None)
            if timer is not None:
                timer.cancel()
