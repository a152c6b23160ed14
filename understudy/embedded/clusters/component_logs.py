"""What the parts of a cluster write to their logs: opened for them, kept small, read for complaints."""

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
    """A file to append to, for a process that is about to start. One that can have no log starts without."""
    try:
        private_folder(folder.logs)
        log = os.open(log_file(folder, part), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        if (size := os.fstat(log).st_size) and os.pread(log, 1, size - 1) != b"\n":
            os.write(log, b"\n")  # one that died while the disk was full may have left half a line
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
    """Moves what a long log says into the file beside it. The writer keeps its place, which is always the end.

    A log that cannot be moved, because there is no room for both, stays as it is until the next time."""
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
