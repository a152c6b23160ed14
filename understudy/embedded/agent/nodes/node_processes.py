"""The processes of this machine's nodes: starts one a node, gives it orders, and tells when it dies or hangs.

A node's process is a nursery of its own, the parent of what runs on the node. While it lives it says so every second.
So its death is known at once, by the end of the process, and its hanging by its silence.
"""

import asyncio
import itertools
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from understudy.embedded.agent.processes.fork_server_client import ForkServerClient
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess, ForkServerConnection, ShimMessage
from understudy.embedded.agent.processes.process_watch import ProcessWatch, watch_process
from understudy.embedded.shim import linux, messages, node_pid_files

EAGER_NODES = 64  # nodes; where there are more, each gets its process with its first pod
_RESERVE, _MOST_RESERVE = 32, 8  # shims forked ahead of orders: on all nodes together, and on one
_SILENT_AFTER = 1.75 * messages.HEARTBEAT_SECONDS
_LOOK = 0.25 * messages.HEARTBEAT_SECONDS
_LAST_WORDS = 5.0


class NodeListener(Protocol):
    """Who is told of nodes."""

    def heard(self, news: ShimMessage) -> None:
        """Of a shim."""
        ...

    def beat(self, node: str, moment: float) -> None: ...

    def died(self, node: str) -> None:
        """Not by our doing."""
        ...

    def silent(self, node: str) -> None: ...


class _NodeProcess:
    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.line: ForkServerConnection | None = None
        self.watched: ProcessWatch | None = None
        self.heard_at: float | None = None  # on our own clock
        self.is_silent = False


class NodeProcesses:
    def __init__(self, root: ForkServerClient, records: Path, nodes: int) -> None:
        """`records` is a folder with a file a node; `nodes` says how many there may be."""
        self._reserve = min(_MOST_RESERVE, _RESERVE // max(nodes, 1))
        self.listener: NodeListener | None = None
        self._root = root
        self._records = records
        self._known: dict[str, _NodeProcess] = {}
        self._serials = itertools.count(1)
        self._timer: asyncio.TimerHandle | None = None
        root.on_node_forked = self._node_forked
        root.on_restart = self._repeat_requests
        self._check_heartbeats()

    def begin(self, node: str) -> None:
        """Nothing where it has begun."""
        if node in self._known:
            return
        body = self._known[node] = _NodeProcess(next(self._serials))
        self._request_fork(node, body)

    def _request_fork(self, node: str, body: _NodeProcess) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if body.line is None:
            body.line = ForkServerConnection(ours, lambda news: self._heard(node, body, news))
        else:
            body.line.connect(ours)
        self._root.fork_node(body.serial, node_pid_files.pid_file(self._records, node), theirs, self._reserve)

    def has_heartbeats(self, node: str) -> bool:
        """Whether it speaks for itself."""
        body = self._known.get(node)
        return body is not None and body.heard_at is not None

    def hangs(self, node: str) -> bool:
        body = self._known.get(node)
        if body is None or body.watched is None:
            return False
        return body.is_silent or linux.is_stopped(body.watched.pid)

    def is_live(self, node: str) -> bool:
        """It carries orders out."""
        body = self._known.get(node)
        return body is not None and not self.hangs(node)

    def processes(self) -> list[int]:
        return [body.watched.pid for body in self._known.values() if body.watched is not None]

    def launch(self, node: str, folder: Path) -> None:
        """Nothing where the node has no process: it is dead, and so is what it was to start."""
        body = self._known.get(node)
        if body is not None and body.line is not None:
            body.line.send(messages.LaunchOrder(str(folder)))

    def enter(self, node: str, folder: Path, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess:
        """Raises LookupError; then the streams are still the caller's."""
        body = self._known.get(node)
        if body is None or body.line is None:
            raise LookupError(f"node {node!r} is dead")
        return body.line.enter(folder, argv, streams, tty=tty)

    def freeze(self, node: str) -> None:
        body = self._known.get(node)
        if body is not None and body.watched is not None:
            body.watched.signal(signal.SIGSTOP)
            body.is_silent = True

    def end(self, node: str) -> None:
        """By our doing: nobody is told. It has ended when this returns."""
        body = self._known.pop(node, None)
        if body is not None:
            self._close(node, body)

    def close(self) -> None:
        """No order is carried out any more; what was started goes on. One that hangs is left to the next agent."""
        if self._timer is not None:
            self._timer.cancel()
        hanging = {node for node in self._known if self.hangs(node)}
        for node in self._known.keys() - hanging:
            self.end(node)
        for node in hanging:
            self._detach(node, self._known.pop(node))

    def _close(self, node: str, body: _NodeProcess) -> None:
        if body.watched is not None:
            body.watched.signal(signal.SIGKILL)
            body.watched.wait(_LAST_WORDS)
        self._detach(node, body)
        node_pid_files.pid_file(self._records, node).unlink(missing_ok=True)

    def _detach(self, node: str, body: _NodeProcess) -> None:
        if body.watched is not None:
            body.watched.close()
        if body.line is not None:
            body.line.close(f"node {node} is dead")

    def _node_forked(self, serial: int, pid: int) -> None:
        """Of one that has been ended since, nothing is wanted any more: it ends when it finds its line closed."""
        node = next((node for node, body in self._known.items() if body.serial == serial), None)
        if node is not None:
            self._watch(node, self._known[node], pid)

    def _watch(self, node: str, body: _NodeProcess, pid: int) -> None:
        if body.watched is None:
            body.watched = watch_process(pid, lambda: self._died(node, body))

    def _repeat_requests(self) -> None:
        """The machine's nursery was killed; nobody knows whether it had heard these orders."""
        for node, body in self._known.items():
            if body.watched is None:
                body.serial = next(self._serials)
                self._request_fork(node, body)

    def _died(self, node: str, body: _NodeProcess) -> None:
        """What was said last is heard first: it names processes that nobody else knows."""
        if body.line is not None:
            body.line.read()
        if self._known.get(node) is body:
            del self._known[node]
            if self.listener is not None:
                self.listener.died(node)
            self._close(node, body)

    def _heard(self, node: str, body: _NodeProcess, news: messages.ForkServerMessage) -> None:
        if self.listener is None:
            return
        match news:
            case messages.Hello(pid=pid):
                self._watch(node, body, pid)
                self._beat(node, body, time.time())
            case messages.Heartbeat(at):
                self._beat(node, body, at)
            case messages.ShimForked() | messages.ContainerStarted() | messages.ContainerEnded():
                self.listener.heard(news)
            case _:
                pass

    def _beat(self, node: str, body: _NodeProcess, moment: float) -> None:
        if body.is_silent and body.watched is not None and linux.is_stopped(body.watched.pid):
            return  # it was said before
        body.heard_at, body.is_silent = time.monotonic(), False
        if self.listener is not None:
            self.listener.beat(node, moment)

    def _check_heartbeats(self) -> None:
        """Now and then, for those who say nothing because they stand still.

        Others that are late may only have been kept from the processor; if they stay so, their lease runs out.
        """
        self._timer = asyncio.get_running_loop().call_later(_LOOK, self._check_heartbeats)
        for node, body in list(self._known.items()):
            if _is_late(body) and not body.is_silent and self.hangs(node):
                body.is_silent = True
                if self.listener is not None:
                    self.listener.silent(node)


def _is_late(body: _NodeProcess) -> bool:
    return body.heard_at is not None and time.monotonic() - body.heard_at > _SILENT_AFTER
