"""Logs of parts stay small, and their last lines are at hand."""

from pathlib import Path

from understudy.embedded.clusters.partlogs import last_lines, log_file, trim
from understudy.embedded.folders import ClusterFolder


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
