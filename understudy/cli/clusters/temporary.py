"""A cluster for one command alone: started in a temporary folder, which is removed when the command ends.

The user's own clusters are left alone: it has another home, and a port and addresses that none of them uses.
"""

import asyncio
import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from understudy.cli.clusters.start import prepare_cluster, start_supervisor
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.private_files import private_folder
from understudy.embedded.clusters.process_lock import SUPERVISOR, hold_lock
from understudy.embedded.clusters.readiness import wait_until_ready
from understudy.embedded.clusters.settings import DEFAULT_ADDRESS, RequestedSettings
from understudy.embedded.clusters.supervisor import stop_cluster

READY_SECONDS = 30.0
LAST_SECONDS = 10.0  # for the supervisor's process, once it has nothing left to look after
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class TemporaryCluster:
    """A cluster for one command. Call `start` once; then `discard`, or leave the cluster running."""

    def __init__(
        self, name: str, nodes: Sequence[dict[str, Any]], loop: dict[str, dict[str, Any]] | None = None
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix=f"understudy-{name}-"))
        self.folder = ClusterFolder(self.home / "clusters" / name)
        self._wanted = RequestedSettings(name=name, port=_free_port(), nodes=nodes, loop=loop)
        self._supervisor: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Says how many nodes are ready. Raises NotReady."""
        private_folder(self.folder.path)
        with hold_lock(self.folder.processes / SUPERVISOR):
            settings = prepare_cluster(self.folder, self._wanted)
        self._supervisor = start_supervisor(self.folder)
        asyncio.run(wait_until_ready(self.folder, READY_SECONDS))
        return len(settings.nodes)

    def discard(self, *, but_logs: bool = False) -> None:
        """Ends the processes and removes the files. With `but_logs`, the logs stay for a look at what went wrong."""
        with _signals_blocked():
            if self._supervisor is not None:
                self._supervisor.terminate()  # it may not have come to say yet that it is the one to be asked
            asyncio.run(stop_cluster(self.folder, at_once=True))
            if self._supervisor is not None:
                self._supervisor.wait(LAST_SECONDS)
            if but_logs and self.folder.logs.is_dir():
                _remove_beside(self.folder.logs)
            else:
                shutil.rmtree(self.home)


@contextlib.contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP act like Ctrl-C: everything is cleaned up first."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    before = {number: signal.signal(number, interrupt) for number in _ENDINGS}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Signals wait until what has begun is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_ENDINGS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _free_port() -> int:
    with socket.create_server((DEFAULT_ADDRESS, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _remove_beside(kept: Path) -> None:
    for path in kept.parent.iterdir():
        if path == kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
