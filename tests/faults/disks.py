"""A small disk of its own that can be filled to the last byte: a tmpfs, which takes the right to mount one."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.faults.server_process import temporary_folder

SIZE = "600m"  # more than the agent wants to see free, or it would keep pods away


class Disk:
    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        """It becomes as small as what is on it, which may grow while one looks. Nothing more fits after that."""
        eventually(lambda: self._resized(f"{self._used()}"), lambda: f"{self.path} cannot be made smaller")

    def free(self) -> None:
        assert self._resized(SIZE)

    def _used(self) -> int:
        found = os.statvfs(self.path)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _resized(self, size: str) -> bool:
        command = ["mount", "-o", f"remount,size={size}", str(self.path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def small_disk() -> Iterator[Disk]:
    with temporary_folder() as path:
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "understudy-test", str(path)]
        try:
            mounted = subprocess.run(mounting, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("this system has no `mount`, and so no disk that can be filled")
        if mounted.returncode != 0:
            pytest.skip(f"a disk that can be filled takes the right to mount one: {mounted.stderr.strip()}")
        try:
            yield Disk(path)
        finally:
            subprocess.run(["umount", "-l", str(path)], check=True)
