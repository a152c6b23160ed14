"""Files that only their owner may read, written atomically."""

import contextlib
import os
from pathlib import Path


def private_folder(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, data: bytes) -> None:
    """A reader sees the old content or the new one. Equal content is not written again."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() == data:
            return
    private_folder(path.parent)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
