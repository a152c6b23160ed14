"""The program of a member where the way to the rendezvous is timed: a large import, a meeting with rank 0, then idling.

Run as `worker.py FOLDER HOST PORT`, with the import put before its first line. When it has passed the rendezvous it
adds a line with the time to the file of its rank in FOLDER. Rank 0 accepts a connection of every other rank, again and
again."""

import os
import socket
import sys
import time
from pathlib import Path

RANKS = ("JOB_COMPLETION_INDEX", "RANK")


def main() -> None:
    folder, host, port = sys.argv[1:4]
    rank = next(os.environ[name] for name in RANKS if name in os.environ)
    if rank == "0":
        with socket.create_server((host, int(port)), backlog=64) as server:
            _past(folder, rank)
            _receive(server)
    else:
        with _met(host, int(port)) as line:
            _past(folder, rank)
            line.recv(1)
            sys.exit("rank 0 is gone")


def _past(folder: str, rank: str) -> None:
    with Path(folder, f"rank-{rank}").open("a") as file:
        file.write(f"{time.time()!r}\n")


def _receive(server: socket.socket) -> None:
    lines = []
    while True:
        line, _ = server.accept()
        line.recv(1)
        line.send(b"!")
        lines.append(line)  # they stay open, so that the end of a worker is noticed


def _met(host: str, port: int) -> socket.socket:
    while True:
        try:
            line = socket.create_connection((host, port), timeout=5)
            line.settimeout(None)
            line.send(b"?")
            if line.recv(1):
                return line
        except OSError:
            pass
        time.sleep(0.002)


if __name__ == "__main__":
    main()
