"""Logs that cannot be written: the process does not notice, and the log tells what is missing."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.disks import Room
from understudy.embedded import process_log
from understudy.embedded.process_log import LogOutput, LogOutputHandler

UNUSED = 200  # a descriptor that is not open


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    path = tmp_path / "log"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    yield file, path
    os.close(file)


def starred(text: str) -> str:
    return f"* {text}"


def test_lines_are_written_as_they_come(log: tuple[int, Path]) -> None:
    output = LogOutput(log[0], starred)
    output.write("one")
    output.write("two \udcff")
    assert log[1].read_text() == "one\ntwo \\udcff\n"


def test_what_a_full_disk_cost_is_told_before_the_next_line(
    log: tuple[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    room, output = Room(monkeypatch), LogOutput(log[0], starred)
    output.write("one")
    room.bytes = 2
    output.write("two")
    output.write("three")
    room.bytes = None
    output.write("four")
    output.write("five")
    missing = "* 2 lines of this log could not be written: No space left on device"
    assert log[1].read_text().splitlines() == ["one", "tw", missing, "four", "five"]


def test_it_is_told_even_where_nothing_else_is(log: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_log, "RETRY", 0.01)
    room, output = Room(monkeypatch), LogOutput(log[0], starred)
    room.bytes = 0
    output.write("one")
    assert log[1].read_text() == ""
    room.bytes = None
    output.retrying.join(10)
    assert log[1].read_text() == "* 1 line of this log could not be written: No space left on device\n"


@pytest.mark.parametrize("broken", ["full", "pipe", "closed"])
def test_no_failure_reaches_who_logs(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_log, "RETRY", 0.01)
    read, pipe = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    file = {"full": full, "pipe": pipe, "closed": UNUSED}[broken]
    output = LogOutput(file, starred)
    for _ in range(3):
        output.write("it is dropped")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, file)
    output.retrying.join(10)
    for used in {full, pipe, nothing, file}:
        os.close(used)


def test_a_handler_tells_in_its_own_form(log: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    room, handler, logger = Room(monkeypatch), LogOutputHandler(log[0]), logging.Logger("test")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    room.bytes = 0
    logger.info("lost")
    room.bytes = None
    logger.info("there")
    missing = "WARNING 1 line of this log could not be written: No space left on device"
    assert log[1].read_text().splitlines() == [missing, "INFO there"]
