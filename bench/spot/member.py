"""A member of a gang that trains in lockstep: counts steps, checkpoints through understudy.train, and keeps a ledger.

Run as `member.py FOLDER SIZE HOST PORT`. A step is done when all members have done it, as in data-parallel training.
When a member is lost, the others meet again and go on from the last checkpoint. One that is told to go saves first."""

import contextlib
import os
import socket
import sys
import time
from pathlib import Path

from understudy import train

STEP_SECONDS = "BENCH_STEP_SECONDS"
SAVE_SECONDS = "BENCH_SAVE_SECONDS"
EVERY_STEPS = "BENCH_EVERY_STEPS"
LOOK = 0.01
SILENCE_SECONDS = 3.0  # after which a member that says nothing counts as lost: a machine that is gone closes nothing


class Ring:
    """All members, through rank 0: `greatest` is the greatest number that any of them came with."""

    def __init__(self, rank: int, size: int, address: tuple[str, int]) -> None:
        self._rank = rank
        self._size = size
        self._address = address
        self._listener: socket.socket | None = None
        self._lines: dict[int, socket.socket] = {}  # by the rank at the other end

    def meet(self) -> None:
        """Returns when all are there. Raises OSError where one of them is lost meanwhile."""
        self.part()
        if self._rank:
            self._lines[0] = self._connected()
            self._lines[0].sendall(b"%d\n" % self._rank)
            _number(self._lines[0])
        else:
            self._accept_all()
            for line in self._lines.values():
                line.sendall(b"0\n")

    def part(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines = {}

    def greatest(self, number: int) -> int:
        """Raises OSError where a member is lost."""
        if self._rank:
            self._lines[0].sendall(b"%d\n" % number)
            return _number(self._lines[0])
        found = max([number, *map(_number, self._lines.values())])
        for line in self._lines.values():
            line.sendall(b"%d\n" % found)
        return found

    def _accept_all(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server(self._address, backlog=64)
        self._listener.settimeout(SILENCE_SECONDS / 10)
        while len(self._lines) < self._size - 1:
            _leave_if_told()
            with contextlib.suppress(OSError):
                line, _ = self._listener.accept()
                line.settimeout(SILENCE_SECONDS)
                rank = _number(line)
                if rank in self._lines:  # it has come again
                    self._lines[rank].close()
                self._lines[rank] = line

    def _connected(self) -> socket.socket:
        while True:
            _leave_if_told()
            with contextlib.suppress(OSError):
                return socket.create_connection(self._address, timeout=SILENCE_SECONDS)
            time.sleep(LOOK)


def _number(line: socket.socket) -> int:
    found = b""
    while not found.endswith(b"\n"):
        more = line.recv(32)
        if not more:
            raise ConnectionResetError("a member is gone")
        found += more
    return int(found)


def _leave_if_told() -> None:
    """Leaves after a notice. While the members are apart there is nothing to save."""
    if train.stopping() is not None:
        train.leave()


class Counter:
    """The state of the training, on which the next step depends."""

    def __init__(self, seconds: float) -> None:
        self.steps = 0
        self._seconds = seconds

    def write(self, path: Path) -> None:
        time.sleep(self._seconds)
        path.write_text(str(self.steps))

    def read(self, path: Path) -> None:
        self.steps = int(path.read_text())


def main() -> None:
    folder, size, host, port = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    rank = int(os.environ["JOB_COMPLETION_INDEX"])
    ring, counter = Ring(rank, size, (host, port)), Counter(float(os.environ[SAVE_SECONDS]))
    every = int(os.environ[EVERY_STEPS])
    with train.Checkpoints(
        folder, counter.write, counter.read, every_steps=every, agree=ring.greatest, rank=rank
    ) as checkpoints:
        while True:
            try:
                ring.meet()
                _train(counter, checkpoints, folder / f"ledger-{rank}")
            except OSError:
                continue  # a member is lost: the others meet again
            except SystemExit:
                if train.stopping() is not None:
                    raise
                ring.part()  # another member was told to go, and all have saved: this one stays


def _train(counter: Counter, checkpoints: train.Checkpoints, ledger: Path) -> None:
    counter.steps = checkpoints.resume()
    pace = float(os.environ[STEP_SECONDS])
    with ledger.open("a") as lines:
        while True:
            time.sleep(pace)
            counter.steps += 1
            lines.write(f"{counter.steps} {time.time():.3f}\n")
            lines.flush()
            checkpoints.after(counter.steps)


if __name__ == "__main__":
    main()
