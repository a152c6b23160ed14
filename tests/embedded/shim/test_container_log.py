"""Log files: lines with time and stream, in files that are rotated."""

import errno
import os
import re
from pathlib import Path

import pytest

from tests.embedded.disks import Room
from understudy.embedded.shim.container_log import ContainerLog
from understudy.embedded.shim.pod_folders import LOG_FILES, AttemptFolder


def written(folder: AttemptFolder) -> list[str]:
    return [line for path in folder.logs() if path.exists() for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb\n"], ["F a", "F b"]),
        ([b"half", b" and half\n"], ["P half", "F  and half"]),
        ([b"x\n", b"\n\ny\n"], ["F x", "F ", "F ", "F y"]),
        ([b"no end"], ["P no end"]),
    ],
)
def test_lines_and_parts_of_lines(tmp_path: Path, pieces: list[bytes], expected: list[str]) -> None:
    journal = ContainerLog(AttemptFolder(tmp_path))
    for piece in pieces:
        journal.write(b"stdout", piece)
    journal.close()
    lines = written(AttemptFolder(tmp_path))
    assert [line.split(" ", 2)[2] for line in lines] == expected
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout [FP] .*", line) for line in lines)


def test_old_files_make_room_for_new_ones(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path)
    journal = ContainerLog(folder, largest=1000)
    for number in range(200):
        journal.write(b"stdout", b"line %d\n" % number)
    journal.close()
    files = [path for path in folder.logs() if path.exists()]
    assert len(files) == LOG_FILES
    assert all(path.stat().st_size <= 1000 for path in files)
    numbers = [int(line.split()[-1]) for line in written(folder)]
    assert numbers == list(range(numbers[0], 200)), "the newest ones, none lost between them"
    assert len(numbers) > 80


def test_a_line_larger_than_a_file_is_kept_whole(tmp_path: Path) -> None:
    journal = ContainerLog(AttemptFolder(tmp_path), largest=1000)
    journal.write(b"stdout", b"x" * 5000 + b"\n")
    journal.write(b"stdout", b"after\n")
    journal.close()
    assert [len(line) for line in written(AttemptFolder(tmp_path))] == [5040, 45]


def test_a_full_disk_costs_lines_and_says_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room, folder = Room(monkeypatch), AttemptFolder(tmp_path)
    journal = ContainerLog(folder)
    journal.write(b"stdout", b"before\n")
    room.bytes = 60  # the first of the lines, and a part of the second
    journal.write(b"stdout", b"one\ntwo\nthree\n")
    journal.write(b"stdout", b"four\n")
    room.bytes = None
    journal.write(b"stdout", b"after\n")
    journal.close()
    missing = "understudy: 19 bytes of output are missing here: No space left on device"
    assert [line[len("2024-01-31T12:00:00.000000000Z ") :] for line in written(folder)] == [
        "stdout F before",
        "stdout F one",
        f"stderr F {missing}",
        "stdout F after",
    ]


def test_a_log_that_cannot_be_rotated_goes_on_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of the old descriptor may be reused by then: nothing must be written to it."""
    folder, opened = AttemptFolder(tmp_path), os.open
    journal = ContainerLog(folder, largest=10)
    journal.write(b"stdout", b"old\n")

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "open", refuse)
    journal.write(b"stdout", b"lost\n")
    monkeypatch.setattr(os, "open", opened)
    read, write = os.pipe()
    journal.write(b"stdout", b"new\n")
    journal.close()
    os.close(write)
    assert os.read(read, 100) == b""
    os.close(read)
    assert [line.rsplit(" ", 1)[1] for line in written(folder)] == ["old", "device", "new"]


def test_a_container_starts_without_a_log_where_there_is_no_room_for_one(tmp_path: Path) -> None:
    journal = ContainerLog(AttemptFolder(tmp_path / "missing"))
    journal.write(b"stdout", b"lost\n")
    journal.close()
