"""How every controller runs: it hears of changes, notes which keys they concern, and brings one key after the other
into order. What fails is tried again later; nothing that fails stops the rest.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from understudy.embedded.controllers.runtime.informer import SharedCluster
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Refused, Unreachable

log = logging.getLogger(__name__)

WORKERS = 8
CONFLICT = 409  # somebody else was quicker, as happens every day
ChangeHandler = Callable[[Change], None]  # takes note of a change, and adds the keys it concerns to the worklist


class Controller(Protocol):
    """Keys are whatever the controller finds its objects by."""

    @property
    def name(self) -> str: ...

    @property
    def worklist(self) -> WorkQueue[str]: ...

    def hearings(self) -> Mapping[Resource, ChangeHandler]:
        """What it follows. Nothing is worked on before all there is of these has been told."""
        ...

    async def settle(self, key: str) -> float | None:
        """Brings one key into order, and says when time alone may bring it out of order again. Safe to be cut off
        anywhere, and to be called again for nothing."""
        ...


async def run_controller(controller: Controller, cluster: SharedCluster) -> None:
    """For ever, or until one of its watches fails."""
    subscriptions = [
        cluster.subscribe(resource, _listening(controller.name, hear))
        for resource, hear in controller.hearings().items()
    ]
    tasks: list[asyncio.Future[None]] = [subscription.ended for subscription in subscriptions]

    async def start() -> None:
        for subscription in subscriptions:
            await subscription.synced.wait()
        await asyncio.gather(*(_work(controller) for _ in range(WORKERS)))

    work = asyncio.create_task(start(), name=f"{controller.name} controller")
    try:
        done, _ = await asyncio.wait([work, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for subscription in subscriptions:
            subscription.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await controller.worklist.close()


def _listening(name: str, hear: ChangeHandler) -> ChangeHandler:
    def listen(change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            return
        try:
            hear(change)
        except msgspec.ValidationError as error:  # one object that nobody can read is no reason to neglect the others
            log.error("%s: an object is passed over: %s: %.200r", name, error, change.raw)

    return listen


async def _work(controller: Controller) -> None:
    worklist = controller.worklist
    while True:
        key = await worklist.next()
        try:
            again_at = await controller.settle(key)
        except (Refused, Unreachable) as error:
            pause = worklist.failed(key)
            level = logging.DEBUG if isinstance(error, Refused) and error.code == CONFLICT else logging.INFO
            log.log(level, "%s: %s: %s; again in %.2f s", controller.name, key, error, pause)
        except Exception:
            pause = worklist.failed(key)
            log.exception("%s: %s failed; again in %.2f s", controller.name, key, pause)
        else:
            worklist.done(key, again_at)
