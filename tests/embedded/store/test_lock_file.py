"""Only one process has a database open."""

import subprocess
import sys
from pathlib import Path

import pytest

from understudy.embedded.store.lock_file import LockFile, StoreInUse
from understudy.embedded.store.store import Store

HOLD = """
import sys
from pathlib import Path
from understudy.embedded.store.lock_file import LockFile

LockFile.take(Path(sys.argv[1]))
sys.stdout.write("held\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(StoreInUse, match=rf"db is in use by process {holder.pid}: end that one first"):
                Store.open(path)
        finally:
            holder.kill()
    LockFile.take(path).release()


def test_a_lock_is_refused_within_a_process_too(tmp_path: Path) -> None:
    lock = LockFile.take(tmp_path / "db")
    with pytest.raises(StoreInUse):
        LockFile.take(tmp_path / "db")
    lock.release()
    LockFile.take(tmp_path / "db").release()
