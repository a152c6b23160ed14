"""Fencing: kills all processes of a pod for certain, so that none of them can write or reach its peers any more.

The processes of a container are the descendants of its shim, which adopts orphans. Where the shim is dead, they are
found by the mark that the environment of all of them carries.
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
    """Signals all descendants of a shim, then the shim. False where the shim is dead, and its children are orphans.

    The shim is stopped first. So it does not see its children end, and gets no new ones but their orphans. A process
    with a pending deadly signal cannot fork any more; hence no process is left when a round finds no new one.
    """
    if not shim.signal(signal.SIGSTOP):
        return False
    signalled: set[int] = set()
    while new := linux.descendants(shim.pid) - signalled:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        signalled |= new
    shim.signal(number)
    return True


def kill_by_mark(marks: Collection[str]) -> None:
    """Kills all processes with one of these marks or a longer one; repeated, since processes may fork meanwhile."""
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
    """Empty for processes of other users and for those that have ended."""
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
    """Without a file object, which costs more than the read: this is done for every process of the machine."""
    words = os.read(file, _BLOCK)
    while len(words) % _BLOCK == 0 and (more := os.read(file, _BLOCK)):
        words += more
    return words


class ProcessSweeper:
    """Searches all processes of the machine for those of pods whose shims are dead: one scan for all waiting pods.

    Only for pods of which nothing is started any more: one scan is then enough.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def request(self, uid: str) -> "asyncio.Future[None]":
        """The future is done when no process with the mark of that pod runs."""
        if uid in self._under_way:
            return self._under_way[uid]
        asked = self._waiting.setdefault(uid, asyncio.get_running_loop().create_future())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._sweep())
        return asked

    async def wait_for(self, uid: str) -> None:
        await asyncio.shield(self.request(uid))

    async def wait_until_idle(self) -> None:
        """Returns when no scan is under way."""
        if self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def _sweep(self) -> None:
        while self._waiting:
            self._under_way, self._waiting = self._waiting, {}
            await asyncio.to_thread(kill_by_mark, list(self._under_way))
            for one in self._under_way.values():
                one.set_result(None)
            self._under_way = {}
