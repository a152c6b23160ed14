"""The agent's side of the machine's fork server: keeps it running, and has it fork a process for every node."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from understudy.embedded.agent.processes.fork_server_connection import ForkServerConnection
from understudy.embedded.agent.processes.process_watch import ProcessWatch, watch_process
from understudy.embedded.shim import messages

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


class ForkServerClient:
    def __init__(self, home: Path) -> None:
        """`home` is an empty folder that only the fork server uses."""
        self.on_node_forked: Callable[[int, int], None] = lambda *_: None
        self.on_restart: Callable[[], None] = lambda: None  # orders may have been lost
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._line: ForkServerConnection | None = None
        self._watched: ProcessWatch | None = None
        self._hello: asyncio.Future[messages.Hello] = asyncio.get_running_loop().create_future()
        self._pause = _FIRST_PAUSE
        self._closed = False

    async def start(self) -> messages.Hello:
        """Returns what this machine permits, once the fork server takes orders."""
        self._spawn()
        return await asyncio.shield(self._hello)

    def fork_node(self, serial: int, record: Path, connection: socket.socket, reserve: int) -> None:
        """Forks a node's process that serves the connection, with so many idle shims; `on_node_forked` gets its pid."""
        file = connection.detach()
        if self._line is None:
            socket.close(file)  # the order is repeated after the restart of the fork server
        else:
            self._line.send(messages.NodeOrder(serial, str(record), reserve), (file,))

    def close(self) -> None:
        """Ends the fork server; the processes it has started keep running."""
        self._closed = True
        self._drop_line()
        if self._process is not None:
            self._process.wait()

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "understudy.embedded.shim.fork_server", str(theirs.fileno()), str(self._home)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._line = ForkServerConnection(ours, self._received)
        self._watched = watch_process(self._process.pid, self._died)

    def _died(self) -> None:
        """Restarts the fork server after a pause. The processes of nodes keep running."""
        if self._closed or self._process is None or self._line is None:
            return
        self._process.wait()
        self._line.read()
        self._drop_line()
        asyncio.get_running_loop().call_later(self._pause, self._respawn)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _respawn(self) -> None:
        if not self._closed:
            self._hello = asyncio.get_running_loop().create_future()
            self._hello.add_done_callback(lambda _: self.on_restart())
            self._spawn()

    def _drop_line(self) -> None:
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        if self._line is not None:
            self._line.close("the fork server was killed")
            self._line = None

    def _received(self, message: messages.ForkServerMessage) -> None:
        match message:
            case messages.Hello():
                self._pause = _FIRST_PAUSE
                if not self._hello.done():
                    self._hello.set_result(message)
            case messages.NodeForked(serial, pid):
                self.on_node_forked(serial, pid)
            case _:
                pass
