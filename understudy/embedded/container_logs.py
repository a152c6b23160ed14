"""Turns the log files of a container into the bytes `kubectl logs` shows.

Each line is `TIME STREAM TAG TEXT`, all but the text of fixed width; the tag is F where the line ends there and P where
it goes on.
"""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from understudy.embedded.shim.pod_folders import AttemptFolder, BadName, pod_folder

_TIME_WIDTH = len("2024-01-31T12:00:00.000000000Z")
_TAG_AT = _TIME_WIDTH + len(" stdout ")
_TEXT_AT = _TAG_AT + 2
_BLOCK = 1 << 18
_SHORTEST_NAP, _LONGEST_NAP = 0.05, 0.25


class NoLog(LookupError):
    """There is no such log, or not yet; the message says why."""


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    follow: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None
    timestamps: bool = False
    previous: bool = False
    limit_bytes: int | None = None


def read(pods: Path, pod_uid: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
    """`pods` has the folders of pods. Raises NoLog where there is nothing to read, before the first byte is asked for.

    With `follow` the log ends when the container has ended and all of it was read.
    """
    attempt = _attempt(pods, pod_uid, container, previous=options.previous)
    chain = _Chain(attempt)
    try:
        if options.tail_lines is not None:
            chain.skip_to_tail(options.tail_lines)
    except BaseException:
        chain.close()
        raise
    return _shown(chain, attempt, options)


def follow_streams(pods: Path, pod_uid: str, container: str) -> AsyncIterator[tuple[str, bytes]]:
    """What the container writes from now on until it ends: `stdout` or `stderr`, and the text. Raises NoLog where it
    has not started."""
    attempt = _attempt(pods, pod_uid, container, previous=False)
    chain = _Chain(attempt)
    chain.skip_to_tail(0)
    return _by_stream(chain, attempt)


def _attempt(pods: Path, pod_uid: str, container: str, *, previous: bool) -> AttemptFolder:
    try:
        pod = pod_folder(pods, pod_uid)
        started = [number for number in pod.attempts(container) if pod.attempt(container, number).log.exists()]
    except BadName as problem:
        raise NoLog(str(problem)) from problem
    if previous:
        newest = pod.attempts(container)[-1:]
        earlier = [number for number in started if [number] != newest]
        if not earlier:
            raise NoLog(f'previous terminated container "{container}" not found')
        return pod.attempt(container, earlier[-1])
    if not started:
        raise NoLog(f'container "{container}" is waiting to start')
    return pod.attempt(container, started[-1])


class _Chain:
    """The log files of one start, oldest first, held open so that rotation takes nothing away from the reader."""

    def __init__(self, attempt: AttemptFolder) -> None:
        self._attempt = attempt
        self._files: list[int] = []
        self._extend()

    def read(self) -> bytes:
        """The next block of whole lines, or nothing where there is no more by now."""
        while self._files:
            if block := _whole_lines(self._files[0]):
                return block
            if len(self._files) == 1:
                if not self._extend():
                    return b""
                if block := _whole_lines(self._files[0]):  # written after the last look and before the rotation
                    return block
            os.close(self._files.pop(0))
        return b""

    def skip_to_tail(self, lines: int) -> None:
        missing = lines
        for index in range(len(self._files) - 1, -1, -1):
            start, missing = _tail_start(self._files[index], missing)
            os.lseek(self._files[index], start, os.SEEK_SET)
            if missing == 0:
                for passed_over in self._files[:index]:
                    os.close(passed_over)
                del self._files[:index]
                return

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files.clear()

    def _extend(self) -> bool:
        """Opens the files that came after the last one held; True where there were any.

        Newest first: a rotation meanwhile shows a file twice, where the other order would pass one over.
        """
        seen = {os.fstat(self._files[-1]).st_ino} if self._files else set()
        newer: list[int] = []
        for path in reversed(self._attempt.logs()):
            file = _opened(path)
            if file is None:
                continue
            inode = os.fstat(file).st_ino
            if inode in seen:
                os.close(file)
                if self._files and inode == os.fstat(self._files[-1]).st_ino:
                    break
                continue
            seen.add(inode)
            newer.append(file)
        self._files += reversed(newer)
        return bool(newer)


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _whole_lines(file: int) -> bytes:
    """Up to the last end of a line; what follows that is read again once it is whole."""
    block = os.read(file, _BLOCK)
    cut = block.rfind(b"\n") + 1
    if cut < len(block):
        os.lseek(file, cut - len(block), os.SEEK_CUR)
    return block[:cut]


def _tail_start(file: int, lines: int) -> tuple[int, int]:
    """Where the last so many lines of a file begin, and how many it does not have."""
    text = os.pread(file, os.fstat(file).st_size, 0)
    if lines == 0:
        return len(text), 0
    position = text.rfind(b"\n") + 1
    found = 0
    while position > 0:
        begin = text.rfind(b"\n", 0, position - 1) + 1
        if text[begin + _TAG_AT : begin + _TAG_AT + 1] == b"F":
            if found == lines:
                return position, 0
            found += 1
        position = begin
    return 0, lines - found


async def _shown(chain: _Chain, attempt: AttemptFolder, options: LogOptions) -> AsyncIterator[bytes]:
    left = options.limit_bytes
    layout = _Layout(options, time.time())
    try:
        async for block in _blocks(chain, attempt, follow=options.follow):
            text = b"".join(layout.lines(block))
            if left is not None:
                text = text[:left]
                left -= len(text)
            if text:
                yield text
            if left == 0:
                return
    finally:
        chain.close()


async def _blocks(chain: _Chain, attempt: AttemptFolder, *, follow: bool) -> AsyncIterator[bytes]:
    nap = _SHORTEST_NAP
    while True:
        ended = not follow or attempt.exit.exists() or not attempt.path.exists()
        while block := chain.read():
            nap = _SHORTEST_NAP
            yield block
            await asyncio.sleep(0)
        if ended:
            return
        await asyncio.sleep(nap)
        nap = min(nap * 1.5, _LONGEST_NAP)


async def _by_stream(chain: _Chain, attempt: AttemptFolder) -> AsyncIterator[tuple[str, bytes]]:
    try:
        async for block in _blocks(chain, attempt, follow=True):
            for stream, lines in itertools.groupby(block.split(b"\n")[:-1], _stream_of):
                yield stream.decode(), b"".join(line[_TEXT_AT:] + _end_of(line) for line in lines)
    finally:
        chain.close()


def _stream_of(line: bytes) -> bytes:
    return line[_TIME_WIDTH + 1 : _TAG_AT - 1]


def _end_of(line: bytes) -> bytes:
    return b"" if line[_TAG_AT : _TAG_AT + 1] == b"P" else b"\n"


class _Layout:
    """Lines as stored into lines as shown; remembers whether the last one went on."""

    def __init__(self, options: LogOptions, now: float) -> None:
        self._since = _since(options, now)
        self._timestamps = options.timestamps
        self._within_line = False

    def lines(self, block: bytes) -> Iterator[bytes]:
        for line in block.split(b"\n")[:-1]:
            if self._since and line[:_TIME_WIDTH] < self._since:
                continue
            if self._timestamps and not self._within_line:
                yield line[: _TIME_WIDTH + 1]
            yield line[_TEXT_AT:]
            self._within_line = line[_TAG_AT : _TAG_AT + 1] == b"P"
            if not self._within_line:
                yield b"\n"


def _since(options: LogOptions, now: float) -> bytes:
    if options.since_time is not None:
        moment = options.since_time.astimezone(UTC)
    elif options.since_seconds is not None:
        moment = datetime.fromtimestamp(now - options.since_seconds, UTC)
    else:
        return b""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()
