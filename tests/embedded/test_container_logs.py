"""What `kubectl logs` shows of a container's log files."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from understudy.embedded import container_logs
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.container_logs import LogOptions, NoLog
from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import ContainerExit
from understudy.embedded.shim.container_log import ContainerLog
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder


def attempt(path: Path, number: int = 0) -> AttemptFolder:
    folder = pod_folder(ClusterFolder(path).pods, "u").attempt("main", number)
    folder.path.mkdir(parents=True, exist_ok=True)
    return folder


def write(folder: AttemptFolder, *pieces: bytes, largest: int = 10_000) -> None:
    journal = ContainerLog(folder, largest)
    for piece in pieces:
        journal.write(b"stdout", piece)
    journal.close()


def end(folder: AttemptFolder) -> None:
    container_files.write(folder.exit, ContainerExit(exit_code=0, finished_at=0.0))


def shown(path: Path, **options: Any) -> str:
    async def whole() -> bytes:
        pieces = container_logs.read(ClusterFolder(path).pods, "u", "main", LogOptions(**options))
        return b"".join([piece async for piece in pieces])

    return asyncio.run(whole()).decode()


def test_lines_are_shown_as_they_were_written(tmp_path: Path) -> None:
    write(attempt(tmp_path), b"one\ntwo", b" and a half\n", b"\nthree")
    assert shown(tmp_path) == "one\ntwo and a half\n\nthree"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(0, ""), (1, "d"), (2, "c\nd"), (3, "b and b\nc\nd"), (4, "a\nb and b\nc\nd"), (99, "a\nb and b\nc\nd")],
)
def test_the_last_lines(tmp_path: Path, lines: int, expected: str) -> None:
    write(attempt(tmp_path), b"a\nb", b" and b\nc\nd\n")
    assert shown(tmp_path, tail_lines=lines) == (expected + "\n" if expected else "")


def test_the_last_lines_of_files_that_were_rotated(tmp_path: Path) -> None:
    pieces = [b"line %d\n" % number for number in range(100, 200)]
    write(attempt(tmp_path), *pieces, largest=500)
    assert shown(tmp_path, tail_lines=20) == b"".join(pieces[-20:]).decode()
    assert shown(tmp_path) == b"".join(pieces[-50:]).decode(), "five files of ten lines"


def test_the_first_bytes(tmp_path: Path) -> None:
    write(attempt(tmp_path), b"one\ntwo\n")
    assert shown(tmp_path, limit_bytes=5) == "one\nt"
    assert shown(tmp_path, limit_bytes=0) == ""


def test_lines_since(tmp_path: Path) -> None:
    folder = attempt(tmp_path)
    now = datetime.now(UTC)
    lines = [(now - timedelta(seconds=age), f"{age} s ago") for age in (300, 100, 5)]
    folder.log.write_text("".join(f"{when:%Y-%m-%dT%H:%M:%S.%f}000Z stdout F {text}\n" for when, text in lines))
    assert shown(tmp_path, since_seconds=200) == "100 s ago\n5 s ago\n"
    assert shown(tmp_path, since_time=now - timedelta(seconds=50)) == "5 s ago\n"
    assert shown(tmp_path, since_seconds=200, tail_lines=1) == "5 s ago\n"


def test_times_stand_at_the_beginning_of_lines(tmp_path: Path) -> None:
    attempt(tmp_path).log.write_text(
        "2026-01-01T00:00:00.000000001Z stdout P half\n"
        "2026-01-01T00:00:00.000000002Z stdout F  line\n"
        "2026-01-01T00:00:00.000000003Z stderr F next\n"
    )
    expected = "2026-01-01T00:00:00.000000001Z half line\n2026-01-01T00:00:00.000000003Z next\n"
    assert shown(tmp_path, timestamps=True) == expected


def test_the_start_before_this_one(tmp_path: Path) -> None:
    write(attempt(tmp_path, 3), b"before\n")
    write(attempt(tmp_path, 4), b"now\n")
    assert shown(tmp_path) == "now\n"
    assert shown(tmp_path, previous=True) == "before\n"


def test_no_log_in_words(tmp_path: Path) -> None:
    with pytest.raises(NoLog, match='container "main" is waiting to start'):
        shown(tmp_path)
    write(attempt(tmp_path), b"first\n")
    with pytest.raises(NoLog, match='previous terminated container "main" not found'):
        shown(tmp_path, previous=True)


@pytest.mark.parametrize(("uid", "container"), [("../u", "main"), ("u", "../main"), ("u/x", "main"), ("", "main")])
def test_names_cannot_lead_elsewhere(tmp_path: Path, uid: str, container: str) -> None:
    with pytest.raises(NoLog, match="is not the"):
        container_logs.read(ClusterFolder(tmp_path).pods, uid, container, LogOptions())


def test_following_goes_on_until_the_container_has_ended(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = attempt(tmp_path)
        journal = ContainerLog(folder, 500)
        journal.write(b"stdout", b"at first\n")
        pieces = container_logs.read(ClusterFolder(tmp_path).pods, "u", "main", LogOptions(follow=True))
        assert await anext(pieces) == b"at first\n"
        expected = b""
        for number in range(40):  # over several rotations, more than one of them between two looks
            line = b"line %d\n" % number
            journal.write(b"stdout", line)
            expected += line
        received = b""
        while received != expected:
            received += await anext(pieces)
        journal.write(b"stdout", b"last words\n")
        journal.close()
        end(folder)
        assert [piece async for piece in pieces] == [b"last words\n"]

    asyncio.run(scenario())


def test_following_a_container_that_has_ended_ends_at_once(tmp_path: Path) -> None:
    folder = attempt(tmp_path)
    write(folder, b"all there is\n")
    end(folder)
    assert shown(tmp_path, follow=True) == "all there is\n"


def test_following_ends_when_the_pod_is_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = attempt(tmp_path)
        write(folder, b"here\n")
        pieces = container_logs.read(ClusterFolder(tmp_path).pods, "u", "main", LogOptions(follow=True))
        assert await anext(pieces) == b"here\n"
        folder.log.unlink()
        folder.path.rmdir()
        assert [piece async for piece in pieces] == []

    asyncio.run(scenario())
