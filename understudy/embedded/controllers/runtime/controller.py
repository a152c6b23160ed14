"""How every controller runs: changes of objects put keys into its queue, and workers reconcile one key after the other.
A key that fails is tried again later, and does not hold up the others.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Protocol

import msgspec

from understudy.embedded.controllers.runtime.object_version import ObjectChange
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.objects.resources import Resource
from understudy.ports import ChangeType, Refused, Unreachable

log = logging.getLogger(__name__)

WORKERS = 8
ChangeHandler = Callable[[ObjectChange], None]  # remembers a change, and adds the keys it concerns to the queue


class Controller(Protocol):
    """What a key names is up to the controller: an object, its uid, a gang."""

    @property
    def name(self) -> str: ...

    @property
    def queue(self) -> WorkQueue[str]: ...

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        """No key is reconciled before all existing objects of these resources were handled."""
        ...

    async def reconcile(self, key: str) -> float | None:
        """Makes what a key names as it should be, and returns when it must be looked at again without any change.
        Must be safe to cancel at any await, and to repeat."""
        ...


async def run_controller(controller: Controller, cluster: SharedCluster) -> None:
    """Runs until one of its watches fails."""
    subscriptions = [
        cluster.subscribe(resource, _passing_over_unreadable(controller.name, handle))
        for resource, handle in controller.watches().items()
    ]
    ends: list[asyncio.Future[None]] = [subscription.ended for subscription in subscriptions]

    async def start() -> None:
        for subscription in subscriptions:
            await subscription.synced.wait()
        await asyncio.gather(*(_work(controller) for _ in range(WORKERS)))

    work = asyncio.create_task(start(), name=f"{controller.name} controller")
    try:
        done, _ = await asyncio.wait([work, *ends], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for subscription in subscriptions:
            subscription.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await controller.queue.close()


def _passing_over_unreadable(name: str, handle: ChangeHandler) -> ChangeHandler:
    def listen(change: ObjectChange) -> None:
        if change.type is ChangeType.SYNCED:
            return
        try:
            handle(change)
        except msgspec.ValidationError as error:  # one unreadable object must not stop the controller
            log.error("%s: an object is passed over: %s: %.200r", name, error, change.raw)

    return listen


async def _work(controller: Controller) -> None:
    queue = controller.queue
    while True:
        key = await queue.next()
        try:
            again_at = await controller.reconcile(key)
        except (Refused, Unreachable) as error:
            pause = queue.failed(key)
            level = logging.DEBUG if isinstance(error, Refused) and error.code == HTTPStatus.CONFLICT else logging.INFO
            log.log(level, "%s: %s: %s; again in %.2f s", controller.name, key, error, pause)
        except Exception:
            pause = queue.failed(key)
            log.exception("%s: %s failed; again in %.2f s", controller.name, key, pause)
        else:
            queue.done(key, again_at)
