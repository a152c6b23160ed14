"""The garbage collector beside a large view: what has been seen once is not walked through again and again.

Objects that refer to each other in circles are rare here, and small: connections, tasks, tracebacks. All the rest goes
when nobody refers to it any more, without a collector. But that walks through everything there is each time it looks,
which on a cluster of 100,000 pods holds everybody up, all threads alike.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable

THRESHOLDS = (50_000, 20, 100)  # objects made, and looks at younger ones, before the collector looks
LOOK = 1.0  # seconds

_log = logging.getLogger(__name__)


async def freeze_after_sync(synced: Callable[[], bool]) -> None:
    """Looks rarely; and once everything has been seen, what there is then is left alone for good."""
    gc.set_threshold(*THRESHOLDS)
    while not synced():
        await asyncio.sleep(LOOK)
    began = time.perf_counter()
    gc.collect()
    gc.freeze()
    _log.debug("%d objects are set apart, in %.2f s", gc.get_freeze_count(), time.perf_counter() - began)
