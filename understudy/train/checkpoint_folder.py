"""Checkpoints as files: a folder of `step-000000300`, each written to a temporary name, synced and renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

_NAME = re.compile(r"step-(\d+)")
_UNFINISHED = "new-"  # torch.save takes no name that begins with a dot
_NO_SUCH_THING = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # a file system that cannot sync folders


class NoneReadable(Exception):
    """There are checkpoints, but none can be read. Starting from the beginning would lose them."""


class CheckpointFolder:
    def __init__(self, folder: Path, keep: int) -> None:
        if keep < 1:
            raise ValueError(f"keep={keep}: at least one checkpoint has to be kept")
        self.folder = folder
        self._keep = keep

    def steps(self) -> list[int]:
        """The steps of all checkpoints, oldest first."""
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def newest(self, below: int | None = None) -> int:
        """0 if there is none."""
        return max((step for step in self.steps() if below is None or step < below), default=0)

    def place(self, step: int) -> Path:
        found = [self.folder / name for name in (f"step-{step:09d}", f"step-{step}")]
        return found[0] if found[0].exists() or not found[1].exists() else found[1]

    def put(self, step: int, write: Callable[[Path], object]) -> Path:
        """Writes a checkpoint and removes the oldest ones beyond `keep`, or fails and changes nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        aside, place = self.folder / f"{_UNFINISHED}{step}-{os.getpid()}", self.place(step)
        _remove(aside)
        try:
            write(aside)
            if not aside.exists():
                raise RuntimeError(
                    f"write() left nothing at {aside}; some libraries add an ending: give them an open file"
                )
            for path in _everything(aside):
                _sync(path)
            _move(aside, place)
        except BaseException:
            _remove(aside)
            raise
        _sync(self.folder)
        self._tidy(step)
        return place

    def clear_up(self) -> None:
        """Removes what a killed writer left unfinished."""
        if self.folder.is_dir():
            for name in os.listdir(self.folder):
                if name.startswith(_UNFINISHED):
                    _remove(self.folder / name)

    def _tidy(self, newest: int) -> None:
        """Later ones, which could not be read when the training went on, are left alone and do not count."""
        for step in [one for one in self.steps() if one <= newest][: -self._keep]:
            _remove(self.place(step))


def _move(aside: Path, place: Path) -> None:
    """A folder cannot be replaced by another in one step; an existing one was not usable (see resume)."""
    if place.is_dir():
        out = place.with_name(f"{_UNFINISHED}old-{place.name}")
        _remove(out)
        os.replace(place, out)
        os.replace(aside, place)
        _remove(out)
    else:
        os.replace(aside, place)


def _everything(path: Path) -> Iterator[Path]:
    """Files before the folders that name them."""
    if path.is_dir() and not path.is_symlink():
        for root, _, files in os.walk(path, topdown=False):
            yield from (Path(root, name) for name in files)
            yield Path(root)
    else:
        yield path


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as problem:
        if not (path.is_dir() and problem.errno in _NO_SUCH_THING):
            raise
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
