"""A nursery with nobody but a test to serve."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from understudy.embedded.shim import orders, talk
from understudy.embedded.shim.layout import AttemptFolder, pod_folder
from understudy.embedded.shim.orders import Exit, Launch

PATIENCE = 90.0
N = TypeVar("N", bound=talk.News)


class Nursery:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "understudy.embedded.shim.nursery", str(theirs.fileno()), str(path / "nursery")],
                pass_fds=[theirs.fileno()],
            )
        self.hello = self.heard(talk.Hello)

    def heard(self, kind: type[N]) -> N:
        """The next news of this kind; what else is said meanwhile is passed over."""
        while True:
            news = talk.decode_news(self.ours.recv(talk.LARGEST_PACKET))
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
        orders.write(attempt.launch, Launch(**{**given, **launch}))
        return attempt

    def order(self, attempt: AttemptFolder) -> None:
        self.ours.send(talk.encode(talk.LaunchOrder(str(attempt.path))))

    def run(self, *argv: str, **launch: Any) -> tuple[AttemptFolder, Exit]:
        """One container, to its end."""
        attempt = self.prepare(*argv, **launch)
        self.order(attempt)
        self.heard(talk.Ended)
        ending = orders.read(attempt.exit, Exit)
        assert ending is not None
        return attempt, ending

    def close(self) -> None:
        self.ours.close()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def nursery(path: Path) -> Iterator[Nursery]:
    one = Nursery(path)
    try:
        yield one
    finally:
        one.close()


class NodeNursery(Nursery):
    def __init__(self, first: Nursery, record: Path) -> None:
        self.path, self.process = first.path, first.process
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)
        with theirs:
            socket.send_fds(first.ours, [talk.encode(talk.NodeOrder(1, str(record)))], [theirs.fileno()])
        self.hello = self.heard(talk.Hello)


@contextlib.contextmanager
def nursery_of_node(first: Nursery, record: Path) -> Iterator[tuple[Nursery, int]]:
    """One that the first has forked, with the id of its process."""
    one = NodeNursery(first, record)
    try:
        yield one, first.heard(talk.Embodied).pid
    finally:
        one.ours.close()


def said(attempt: AttemptFolder) -> list[str]:
    """The lines of a log without their time."""
    return [line.split(" ", 1)[1] for line in attempt.log.read_text().splitlines()]
