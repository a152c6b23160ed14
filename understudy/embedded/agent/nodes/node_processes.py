"""Node processes: starts one for each node, sends it orders, and reports when it dies or hangs.

A node's process is a fork server of its own and the parent of all processes on the node. It sends a heartbeat every
second. So the agent learns of its death at once, by the end of the process, and of its hanging by missing heartbeats.
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

EAGER_NODES = (
    64  # up to so many nodes get their process at the start of the agent; more nodes get it with their first pod
)
_RESERVE, _MOST_RESERVE = 32, 8  # idle shims forked ahead: on all nodes together, and on one
_SILENT_AFTER = 1.75 * messages.HEARTBEAT_SECONDS
_LOOK = 0.25 * messages.HEARTBEAT_SECONDS
_LAST_WORDS = 5.0


class NodeListener(Protocol):
    """Receives the reports about nodes."""

    def shim_message(self, message: ShimMessage) -> None:
        """A message of a shim."""
        ...

    def heartbeat(self, node: str, moment: float) -> None: ...

    def died(self, node: str) -> None:
        """The process ended without an order of the agent."""
        ...

    def silent(self, node: str) -> None: ...


class _NodeProcess:
    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.line: ForkServerConnection | None = None
        self.watched: ProcessWatch | None = None
        self.last_heartbeat: float | None = None  # by the monotonic clock of the agent
        self.is_silent = False


class NodeProcesses:
    def __init__(self, root: ForkServerClient, records: Path, nodes: int) -> None:
        """`records` is the folder of pid files; `nodes` is the number of nodes."""
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
        """Does nothing where the process has been started."""
        if node in self._known:
            return
        process = self._known[node] = _NodeProcess(next(self._serials))
        self._request_fork(node, process)

    def _request_fork(self, node: str, process: _NodeProcess) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if process.line is None:
            process.line = ForkServerConnection(ours, lambda message: self._received(node, process, message))
        else:
            process.line.connect(ours)
        self._root.fork_node(process.serial, node_pid_files.pid_file(self._records, node), theirs, self._reserve)

    def has_heartbeats(self, node: str) -> bool:
        """Whether the node's process has sent a heartbeat."""
        process = self._known.get(node)
        return process is not None and process.last_heartbeat is not None

    def hangs(self, node: str) -> bool:
        process = self._known.get(node)
        if process is None or process.watched is None:
            return False
        return process.is_silent or linux.is_stopped(process.watched.pid)

    def is_live(self, node: str) -> bool:
        """Whether the node's process exists and does not hang."""
        process = self._known.get(node)
        return process is not None and not self.hangs(node)

    def processes(self) -> list[int]:
        return [process.watched.pid for process in self._known.values() if process.watched is not None]

    def launch(self, node: str, folder: Path) -> None:
        """Does nothing where the node has no process: the node has failed, and its pods with it."""
        process = self._known.get(node)
        if process is not None and process.line is not None:
            process.line.send(messages.LaunchOrder(str(folder)))

    def enter(self, node: str, folder: Path, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess:
        """Raises LookupError; the streams then stay with the caller."""
        process = self._known.get(node)
        if process is None or process.line is None:
            raise LookupError(f"node {node!r} is dead")
        return process.line.enter(folder, argv, streams, tty=tty)

    def freeze(self, node: str) -> None:
        process = self._known.get(node)
        if process is not None and process.watched is not None:
            process.watched.signal(signal.SIGSTOP)
            process.is_silent = True

    def end(self, node: str) -> None:
        """Kills the process without a report to the listener. It has ended when this returns."""
        process = self._known.pop(node, None)
        if process is not None:
            self._close(node, process)

    def close(self) -> None:
        """Ends all node processes; containers keep running. A process that hangs is left to the next agent."""
        if self._timer is not None:
            self._timer.cancel()
        hanging = {node for node in self._known if self.hangs(node)}
        for node in self._known.keys() - hanging:
            self.end(node)
        for node in hanging:
            self._detach(node, self._known.pop(node))

    def _close(self, node: str, process: _NodeProcess) -> None:
        if process.watched is not None:
            process.watched.signal(signal.SIGKILL)
            process.watched.wait(_LAST_WORDS)
        self._detach(node, process)
        node_pid_files.pid_file(self._records, node).unlink(missing_ok=True)

    def _detach(self, node: str, process: _NodeProcess) -> None:
        if process.watched is not None:
            process.watched.close()
        if process.line is not None:
            process.line.close(f"node {node} is dead")

    def _node_forked(self, serial: int, pid: int) -> None:
        """A process that is no longer wanted ends by itself when it finds its connection closed."""
        node = next((node for node, process in self._known.items() if process.serial == serial), None)
        if node is not None:
            self._watch(node, self._known[node], pid)

    def _watch(self, node: str, process: _NodeProcess, pid: int) -> None:
        if process.watched is None:
            process.watched = watch_process(pid, lambda: self._died(node, process))

    def _repeat_requests(self) -> None:
        """The machine's fork server was killed: the orders that it may not have received are sent again."""
        for node, process in self._known.items():
            if process.watched is None:
                process.serial = next(self._serials)
                self._request_fork(node, process)

    def _died(self, node: str, process: _NodeProcess) -> None:
        """Reads the last messages first: they name processes that are known from nowhere else."""
        if process.line is not None:
            process.line.read()
        if self._known.get(node) is process:
            del self._known[node]
            if self.listener is not None:
                self.listener.died(node)
            self._close(node, process)

    def _received(self, node: str, process: _NodeProcess, message: messages.ForkServerMessage) -> None:
        if self.listener is None:
            return
        match message:
            case messages.Hello(pid=pid):
                self._watch(node, process, pid)
                self._heartbeat(node, process, time.time())
            case messages.Heartbeat(at):
                self._heartbeat(node, process, at)
            case messages.ShimForked() | messages.ContainerStarted() | messages.ContainerEnded():
                self.listener.shim_message(message)
            case _:
                pass

    def _heartbeat(self, node: str, process: _NodeProcess, moment: float) -> None:
        if process.is_silent and process.watched is not None and linux.is_stopped(process.watched.pid):
            return  # the heartbeat was sent before the process was stopped
        process.last_heartbeat, process.is_silent = time.monotonic(), False
        if self.listener is not None:
            self.listener.heartbeat(node, moment)

    def _check_heartbeats(self) -> None:
        """Checks now and then for processes that are late because they are stopped.

        Others that are late may only lack processor time; if they stay late, their lease expires.
        """
        self._timer = asyncio.get_running_loop().call_later(_LOOK, self._check_heartbeats)
        for node, process in list(self._known.items()):
            if _is_late(process) and not process.is_silent and self.hangs(node):
                process.is_silent = True
                if self.listener is not None:
                    self.listener.silent(node)


def _is_late(process: _NodeProcess) -> bool:
    return process.last_heartbeat is not None and time.monotonic() - process.last_heartbeat > _SILENT_AFTER
