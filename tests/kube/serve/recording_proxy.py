"""A proxy between one process and the API server. It records requests, and can stop all requests after a
number of them, so that a test can kill the process in the middle of its work."""

import re
import threading
import time

import msgspec

from tests.client.faulty_proxy import BlackHole, Fault, FaultyProxy
from tests.kube.cluster.processes import wait_until
from understudy.client import Config

SECONDS = 60.0
READS = ("GET", "HEAD")
_ASIDE = re.compile(r"/leases|/events")  # who leads, and what is told, is written at any time


class Asked(msgspec.Struct, frozen=True):
    at: float  # by the monotonic clock
    method: str
    path: str
    struck: bool  # whether the proxy did something else than to pass it on


class Trap:
    """Passes a number of matching requests. Later ones get no answer."""

    def __init__(self, after: int, method: str, path: str) -> None:
        self._left = after
        self._method = method
        self._path = re.compile(path)
        self.sprung = threading.Event()

    def catches(self, method: str, path: str) -> bool:
        fits = method not in READS and self._method in ("", method) and self._path.search(path)
        if not fits or (_ASIDE.search(path) and not _ASIDE.search(self._path.pattern)):
            return False
        if self._left:
            self._left -= 1
            return False
        self.sprung.set()
        return True

    def wait(self) -> None:
        wait_until(self.sprung.is_set, f"a client requests {self._path.pattern} once too often", SECONDS, every=0.002)


class RecordingProxy(FaultyProxy):
    def __init__(self, upstream: Config) -> None:
        super().__init__(upstream)
        self.asked: list[Asked] = []
        self._traps: list[Trap] = []

    def trap(self, after: int, method: str = "", path: str = "") -> Trap:
        made = Trap(after, method, path)
        self._traps.append(made)
        return made

    def clear(self) -> None:
        super().clear()
        self._traps.clear()
        self.thaw()

    def strike(self, method: str, path: str) -> Fault | None:
        caught = any(trap.catches(method, path) for trap in self._traps)
        fault = BlackHole() if caught else super().strike(method, path)
        self.asked.append(Asked(time.monotonic(), method, path, fault is not None))
        return fault

    def writes(self, path: str = "", since: float = 0.0) -> list[Asked]:
        """Requests that write, except those of leases and events."""
        return [
            asked
            for asked in list(self.asked)
            if asked.method not in READS
            and asked.at >= since
            and re.search(path, asked.path)
            and not _ASIDE.search(asked.path)
        ]

    def everything(self, since: float, but: str = "$^") -> list[Asked]:
        """Requests that write, with those of leases and events."""
        found = (asked for asked in list(self.asked) if asked.method not in READS and asked.at >= since)
        return [asked for asked in found if not re.search(but, asked.path)]
