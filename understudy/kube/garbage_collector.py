"""Keeps Python's garbage collector from scanning a large view again and again.

Reference cycles are rare here, and small: connections, tasks, tracebacks. All other objects are freed by reference
counting. But each collection scans all objects, which on a cluster of 100,000 pods blocks all threads.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable

THRESHOLDS = (50_000, 20, 100)  # allocations, and collections of younger generations, before a collection
LOOK = 1.0  # seconds

_log = logging.getLogger(__name__)


async def freeze_after_sync(synced: Callable[[], bool]) -> None:
    """Makes collections rare, and excludes the objects of the view from them once it is complete."""
    gc.set_threshold(*THRESHOLDS)
    while not synced():
        await asyncio.sleep(LOOK)
    began = time.perf_counter()
    gc.collect()
    gc.freeze()
    _log.debug("%d objects are frozen, in %.2f s", gc.get_freeze_count(), time.perf_counter() - began)
