"""A fork server that takes its orders from a test."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from understudy.embedded.shim import container_files, messages
from understudy.embedded.shim.container_files import ContainerExit, Launch
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder

PATIENCE = 90.0
N = TypeVar("N", bound=messages.ForkServerMessage)


class ForkServerUnderTest:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "understudy.embedded.shim.fork_server",
                    str(theirs.fileno()),
                    str(path / "fork-server"),
                ],
                pass_fds=[theirs.fileno()],
            )
        self.hello = self.heard(messages.Hello)

    def heard(self, kind: type[N]) -> N:
        """The next message of this kind; other messages are skipped."""
        while True:
            news = messages.decode_message(self.ours.recv(messages.LARGEST_PACKET))
            if isinstance(news, kind):
                return news

    def prepare(self, *argv: str, uid: str = "u", **launch: Any) -> AttemptFolder:
        pod = pod_folder(self.path, uid)
        attempt = pod.attempt("main", 0)
        attempt.path.mkdir(parents=True)
        pod.root.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "argv": argv,
            "env": {"PATH": os.environ["PATH"]},
            "cwd": str(pod.root),
            "root": str(pod.root),
            "private": str(pod.private),
            "hostname": "pod",
            "isolated": self.hello.mounts,
        }
        container_files.write(attempt.launch, Launch(**{**given, **launch}))
        return attempt

    def order(self, attempt: AttemptFolder) -> None:
        self.ours.send(messages.encode(messages.LaunchOrder(str(attempt.path))))

    def run(self, *argv: str, **launch: Any) -> tuple[AttemptFolder, ContainerExit]:
        """Runs one container to its end."""
        attempt = self.prepare(*argv, **launch)
        self.order(attempt)
        self.heard(messages.ContainerEnded)
        ending = container_files.read(attempt.exit, ContainerExit)
        assert ending is not None
        return attempt, ending

    def close(self) -> None:
        self.ours.close()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def fork_server(path: Path) -> Iterator[ForkServerUnderTest]:
    one = ForkServerUnderTest(path)
    try:
        yield one
    finally:
        one.close()


class NodeForkServer(ForkServerUnderTest):
    def __init__(self, first: ForkServerUnderTest, record: Path) -> None:
        self.path, self.process = first.path, first.process
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)
        with theirs:
            socket.send_fds(first.ours, [messages.encode(messages.NodeOrder(1, str(record)))], [theirs.fileno()])
        self.hello = self.heard(messages.Hello)


@contextlib.contextmanager
def node_fork_server(first: ForkServerUnderTest, record: Path) -> Iterator[tuple[ForkServerUnderTest, int]]:
    """A node's fork server that the first has forked, with its pid."""
    one = NodeForkServer(first, record)
    try:
        yield one, first.heard(messages.NodeForked).pid
    finally:
        one.ours.close()


def said(attempt: AttemptFolder) -> list[str]:
    """The lines of a log without their time."""
    return [line.split(" ", 1)[1] for line in attempt.log.read_text().splitlines()]
