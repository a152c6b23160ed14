"""Log files: lines with their time and stream, in files that do not grow for ever."""

import re
from pathlib import Path

import pytest

from understudy.embedded.shim.journal import Journal
from understudy.embedded.shim.layout import LOG_FILES, AttemptFolder


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
    journal = Journal(AttemptFolder(tmp_path))
    for piece in pieces:
        journal.write(b"stdout", piece)
    journal.close()
    lines = written(AttemptFolder(tmp_path))
    assert [line.split(" ", 2)[2] for line in lines] == expected
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout [FP] .*", line) for line in lines)


def test_old_files_make_room_for_new_ones(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path)
    journal = Journal(folder, largest=1000)
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
    journal = Journal(AttemptFolder(tmp_path), largest=1000)
    journal.write(b"stdout", b"x" * 5000 + b"\n")
    journal.write(b"stdout", b"after\n")
    journal.close()
    assert [len(line) for line in written(AttemptFolder(tmp_path))] == [5040, 45]
