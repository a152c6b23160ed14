"""Time that is never set: what leads and what has run out is measured by it."""

import time


def ticks() -> float:
    """Seconds since some moment. Where the system can tell, a machine's sleep counts: others were awake meanwhile."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boot) if boot is not None else time.monotonic()
