"""Idle shims: they carry orders out like any other, inherit no sockets, and end with their fork server."""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.embedded.shim.fork_servers import PATIENCE, ForkServerUnderTest, fork_server, said
from tests.eventually import eventually
from understudy.embedded.shim import linux, messages

RESERVE = 2


@contextlib.contextmanager
def embodied(one: ForkServerUnderTest) -> Iterator[int]:
    """The process of a node; at the end its connection is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    with theirs:
        order = messages.NodeOrder(1, str(one.path / "node.json"), RESERVE)
        socket.send_fds(one.ours, [messages.encode(order)], [theirs.fileno()])
    pid = one.heard(messages.NodeForked).pid
    root, one.ours = one.ours, ours
    try:
        one.heard(messages.Hello)
        yield pid
    finally:
        ours.close()
        one.ours = root


def children(pid: int) -> set[int]:
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def waits(pid: int) -> bool:
    """Asleep, as an idle shim is."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def test_idle_shims_are_used_first_and_replaced(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        with embodied(one) as node:
            eventually(lambda: len(children(node)) == RESERVE)
            ready = children(node)
            for number in range(RESERVE + 1):
                attempt = one.prepare("sh", "-c", "echo here; ls /proc/self/fd | wc -l; exit 5", uid=f"u{number}")
                one.order(attempt)
                shim = one.heard(messages.ShimForked).shim
                one.heard(messages.ContainerEnded)
                assert said(attempt) == ["stdout F here", "stdout F 4"], "three streams, and the folder ls reads"
                assert number or shim in ready
            eventually(lambda: len(children(node)) == RESERVE)
            left = children(node)
        eventually(lambda: all(linux.start_ticks(pid) is None for pid in left))


def test_stopped_idle_shims_end_with_their_node_and_working_shims_do_not(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one, embodied(one) as node:
        one.order(one.prepare("sleep", "1000000"))
        shim = one.heard(messages.ShimForked).shim
        one.heard(messages.ContainerStarted)
        [container] = children(shim)
        eventually(lambda: len(children(node) - {shim}) == RESERVE and all(map(waits, children(node))))
        left = children(node) - {shim}
        for pid in (node, *left):
            os.kill(pid, signal.SIGSTOP)
        os.kill(node, signal.SIGKILL)
        eventually(lambda: all(linux.start_ticks(pid) is None for pid in left))
        assert linux.start_ticks(shim) is not None
        os.kill(container, signal.SIGKILL)
        eventually(lambda: linux.start_ticks(shim) is None)
