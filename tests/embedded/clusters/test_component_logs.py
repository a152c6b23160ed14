"""Logs of parts stay small, and their last lines are at hand."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.component_logs import last_lines, log_file, open_log, trim


def test_a_log_that_grows_too_long_is_moved_aside_and_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with open(log, "ab", buffering=0) as writer:
        writer.write(b"x" * 100)
        trim(log, largest=99)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert log.with_name("server.log.1").read_bytes() == b"x" * 100


def test_the_last_lines_of_a_log(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    assert last_lines(folder, "agent", 2) == []
    folder.logs.mkdir()
    log_file(folder, "agent").write_text("old\n" * 10_000 + "one\n\ntwo\n")
    assert last_lines(folder, "agent", 2) == ["one", "two"]


def test_a_log_that_cannot_be_moved_stays_and_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 100)

    def copy_a_part(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfile", copy_a_part)
    trim(log, largest=99)
    assert log.read_bytes() == b"x" * 100
    assert list(tmp_path.iterdir()) == [log]


def test_a_part_that_can_have_no_log_starts_without(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()  # where the folder should be
    file = open_log(ClusterFolder(tmp_path), "server")
    os.write(file, b"without a reader\n")
    os.close(file)


def test_half_a_line_of_a_part_that_died_is_ended(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    for text in (b"half", b"whole\n"):
        file = open_log(folder, "server")
        os.write(file, text)
        os.close(file)
    assert log_file(folder, "server").read_text() == "half\nwhole\n"
