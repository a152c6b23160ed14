"""The lock file beside the database: held while its process lives, so that only one process opens the store."""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Self

from understudy.embedded.store.records import StoreUnusable


class StoreInUse(StoreUnusable):
    """Another process has the database open."""

    def __init__(self, path: Path, holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        super().__init__(f"{path} is in use by {who}: end that one first, or give this cluster another folder")


class LockFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self:
        """The lock for the database at `path`. The system releases it when the process ends, in whatever way."""
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise StoreInUse(path, holder) from None
        os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):  # a full disk: the process id is only for the message
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        os.close(self._descriptor)
