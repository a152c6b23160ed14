"""Files of shims, written atomically, also on a nearly full disk."""

from pathlib import Path

import pytest

from tests.embedded.disks import Room
from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import ShimState

OLD, NEW = (ShimState(shim=number, pid=number, pid_birth=number, started_at=0.0) for number in (1, 2_000_000))


def test_the_newest_record_is_read(tmp_path: Path) -> None:
    container_files.write(tmp_path / "state", NEW)
    container_files.write(tmp_path / "state", OLD, durable=True)
    assert container_files.read(tmp_path / "state", ShimState) == OLD
    assert container_files.read(tmp_path / "none", ShimState) is None
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("left", [0, 5, 40])
def test_a_write_that_does_not_fit_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    container_files.write(tmp_path / "state", OLD)
    room = Room(monkeypatch)
    room.bytes = left
    with pytest.raises(OSError, match="No space left on device"):
        container_files.write(tmp_path / "state", NEW)
    assert container_files.read(tmp_path / "state", ShimState) == OLD
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_reserved_room_is_usable_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch)
    container_files.reserve(tmp_path / "state")
    room.bytes = 0
    container_files.write(tmp_path / "state", NEW)
    assert container_files.read(tmp_path / "state", ShimState) == NEW
    with pytest.raises(OSError, match="No space left on device"):
        container_files.reserve(tmp_path / "other")
