"""Reads the living processes of pods from /proc, by the mark in their environment, with their accelerators."""

import os
import time

import msgspec

MARK = b"UNDERSTUDY_CONTAINER="  # uid/container/attempt
DEVICES = b"UNDERSTUDY_DEVICES_"
SETTLING = 1.0  # seconds in which a new process may still become another one by exec
_STANDING = "TtZXx"  # stopped, or dead: it does nothing any more


class PodProcess(msgspec.Struct, frozen=True, gc=False):
    """A process of a pod that can run."""

    pid: int
    birth: str  # tells a process from a later one with the same id
    uid: str
    devices: tuple[str, ...] = ()


class ProcessTable:
    """`look` is cheap enough to be taken fifty times a second: only new processes are read whole."""

    def __init__(self) -> None:
        self._known: dict[int, PodProcess | None] = {}
        self._first_seen: dict[int, float] = {}

    def look(self) -> dict[str, list[PodProcess]]:
        """The living processes, by the uid of their pod."""
        now, pids = time.monotonic(), {int(name) for name in os.listdir("/proc") if name.isdecimal()}
        for gone in self._known.keys() - pids:
            del self._known[gone]
            self._first_seen.pop(gone, None)
        found: dict[str, list[PodProcess]] = {}
        for pid in pids:
            body = self._body(pid, now)
            if body is not None and is_living(body):
                found.setdefault(body.uid, []).append(body)
        return found

    def _body(self, pid: int, now: float) -> PodProcess | None:
        known = self._known.get(pid)
        if known is not None and _stat(pid)[1] == known.birth:
            return known
        if known is None and pid in self._known and now - self._first_seen[pid] > SETTLING:
            return None
        self._first_seen.setdefault(pid, now)
        self._known[pid] = read(pid)
        return self._known[pid]


def read(pid: int) -> PodProcess | None:
    """The process with this id; None if it belongs to no pod, or may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return None
    mark = next((one[len(MARK) :] for one in variables if one.startswith(MARK)), b"")
    if not mark:
        return None
    devices = (one.decode().partition("=") for one in variables if one.startswith(DEVICES))
    numbered = tuple(f"{name}={number}" for name, _, numbers in devices for number in numbers.split(",") if number)
    return PodProcess(pid, _stat(pid)[1], mark.decode().partition("/")[0], numbered)


def is_living(body: PodProcess) -> bool:
    state, birth = _stat(body.pid)
    return birth == body.birth and state not in _STANDING


def _stat(pid: int) -> tuple[str, str]:
    """The state of a process, and when it began. The name before them may contain anything."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "X", ""
    return fields[0], fields[19]
