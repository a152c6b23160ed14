"""Signals all processes of a pod, for sure: what is killed here can neither write nor meet others any more.

What a container started is found as the offspring of its shim, to which orphans fall; and where the shim is dead, by
the mark that the environment of all of them carries.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection

from understudy.embedded.agent.processes.process_watch import ProcessWatch
from understudy.embedded.agent_protocol import MARK
from understudy.embedded.shim import linux
from understudy.embedded.shim.pod_folders import AttemptFolder

_MOST_ROUNDS = 100
_BLOCK = 1 << 17
_MARK = f"\0{MARK}=".encode()


def signal_shim_tree(shim: ProcessWatch, number: signal.Signals) -> bool:
    """To all that it keeps, then to itself. False where it is dead, and what it kept is anywhere.

    It is stopped first. So it does not see its children end, and it has no new ones but orphans of those. A process
    that has a deadly signal cannot fork any more; hence nobody is left when a look finds nobody new.
    """
    if not shim.signal(signal.SIGSTOP):
        return False
    struck: set[int] = set()
    while new := linux.descendants(shim.pid) - struck:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        struck |= new
    shim.signal(number)
    return True


def kill_by_mark(marks: Collection[str]) -> None:
    """All processes with one of these marks, or one that goes on from it: those that are killed may be forking."""
    wanted = tuple(mark.encode() for mark in marks)
    for _ in range(_MOST_ROUNDS):
        pids = [pid for pid in linux.all_pids() if _belongs(_mark_of(pid), wanted)]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _belongs(mark: bytes, wanted: tuple[bytes, ...]) -> bool:
    return bool(mark) and any(mark == one or mark.startswith(one + b"/") for one in wanted)


def kill_lock_holders(folder: AttemptFolder, but: Collection[int]) -> None:
    """Kills a shim that has not reported itself yet: it holds the lock on its folder."""
    for pid in linux.lock_holders(folder.path) - set(but):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _mark_of(pid: int) -> bytes:
    """Nothing for those that are not ours to read, and for those that have ended."""
    try:
        file = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        words = _whole(file)
    except OSError:
        return b""
    finally:
        os.close(file)
    _, found, rest = (b"\0" + words).partition(_MARK)
    return rest.split(b"\0", 1)[0] if found else b""


def _whole(file: int) -> bytes:
    """By hand: every process of the machine is read, and a file object costs more than the reading."""
    words = os.read(file, _BLOCK)
    while len(words) % _BLOCK == 0 and (more := os.read(file, _BLOCK)):
        words += more
    return words


class ProcessSweeper:
    """A last look for those that got away: one at all processes for all pods that are waiting for it.

    Only for pods of which nothing is started any more: one look for each of them is enough.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def request(self, uid: str) -> "asyncio.Future[None]":
        """Done when nothing with the mark of that pod runs."""
        if uid in self._under_way:
            return self._under_way[uid]
        asked = self._waiting.setdefault(uid, asyncio.get_running_loop().create_future())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._sweep())
        return asked

    async def wait_for(self, uid: str) -> None:
        await asyncio.shield(self.request(uid))

    async def wait_until_idle(self) -> None:
        """Returns when nobody is being looked for."""
        if self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def _sweep(self) -> None:
        while self._waiting:
            self._under_way, self._waiting = self._waiting, {}
            await asyncio.to_thread(kill_by_mark, list(self._under_way))
            for one in self._under_way.values():
                one.set_result(None)
            self._under_way = {}
