"""The log files of the components of a cluster: opened for them, kept small, and read for error messages."""

import contextlib
import os
import shutil
from pathlib import Path

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.private_files import private_folder

LARGEST = 10 << 20
_TAIL = 10_000


def log_file(folder: ClusterFolder, part: str) -> Path:
    return folder.logs / f"{part}.log"


def open_log(folder: ClusterFolder, part: str) -> int:
    """A descriptor to append to, for a process that is about to start; /dev/null if there can be no log file."""
    try:
        private_folder(folder.logs)
        log = os.open(log_file(folder, part), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        if (size := os.fstat(log).st_size) and os.pread(log, 1, size - 1) != b"\n":
            os.write(log, b"\n")  # a process that died on a full disk may have left half a line
    return log


def last_lines(folder: ClusterFolder, part: str, count: int) -> list[str]:
    try:
        with open(log_file(folder, part), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if any(map(str.isalnum, line))][-count:]


def trim(log: Path, largest: int = LARGEST) -> None:
    """Moves the content of a large log to `<log>.1`. The writer appends, so it goes on at the new end.

    If the disk has no room for the copy, the log stays as it is until the next time."""
    beside = log.with_name(f"{log.name}.1")
    try:
        if log.stat().st_size > largest:
            shutil.copyfile(log, beside)
            os.truncate(log, 0)
    except FileNotFoundError:
        pass
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
