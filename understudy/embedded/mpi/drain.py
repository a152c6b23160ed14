"""The preStop hook of MPI pods: sends SIGTERM to mpirun and the ranks in this pod and waits for them, so that they can
save their work. A program of its own, like the rank supervisor.
"""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator


def main(mark: str, *programs: str) -> None:
    """`mark` names the variable that marks the processes of a container.

    `programs` occur in the command lines of the processes to end, after the interpreter and its option.
    """
    own = f"{mark}={os.environ.get(mark, '')}".encode()
    ends = []
    for pid in _running(own, [program.encode() for program in programs]):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            ends.append(os.pidfd_open(pid))
            os.kill(pid, signal.SIGTERM)
    for end in ends:
        select.select([end], [], [])


def _running(own: bytes, programs: list[bytes]) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                start = _words(f"/proc/{name}/cmdline")[2:4]
                known = any(program in word for program in programs for word in start)
                if known and own in _words(f"/proc/{name}/environ"):
                    yield int(name)


def _words(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().split(b"\0")


if __name__ == "__main__":
    main(*sys.argv[1:])
