"""What the parts of a cluster write to their logs: opened for them, kept small, read for complaints."""

import contextlib
import os
import shutil
from pathlib import Path

from understudy.embedded.clusters.files import private_folder
from understudy.embedded.folders import ClusterFolder

LARGEST = 10 << 20
_TAIL = 10_000


def log_file(folder: ClusterFolder, part: str) -> Path:
    return folder.logs / f"{part}.log"


def open_log(folder: ClusterFolder, part: str) -> int:
    """A file to append to, for a process that is about to start."""
    private_folder(folder.logs)
    return os.open(log_file(folder, part), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def last_lines(folder: ClusterFolder, part: str, count: int) -> list[str]:
    try:
        with open(log_file(folder, part), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if any(map(str.isalnum, line))][-count:]


def trim(log: Path, largest: int = LARGEST) -> None:
    """Moves what a long log says into the file beside it. The writer keeps its place, which is always the end."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > largest:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)
