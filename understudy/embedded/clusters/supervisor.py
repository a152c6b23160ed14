"""Keeps the components of a cluster running until a user stops it, then stops them in order, and the pods with them.

Nothing else stops them: no component that dies or cannot be started, and no log that cannot be written.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Coroutine
from typing import Any

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.api_port import move_port_if_taken
from understudy.embedded.clusters.component import PATIENCE, Component, Launcher
from understudy.embedded.clusters.component_logs import log_file, trim
from understudy.embedded.clusters.process_lock import (
    AGENT,
    CONTROL,
    PARTS,
    SERVER,
    SUPERVISOR,
    LockHolder,
    end_process,
    lock_holder,
)
from understudy.embedded.process_log import log_to_stderr, timestamped

GRACE = 30.0  # seconds for pods to end
LOG_SECONDS = 30.0
_AGAIN = 0.2


class Stop:
    """The first request stops the cluster in order, the second one at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def ask(self) -> None:
        (self.at_once if self.asked.is_set() else self.asked).set()

    def on_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.ask)


async def supervise(site: Launcher, stop: Stop) -> None:
    """The caller holds the supervisor's lock. Components of an earlier supervisor are replaced; pods keep running."""
    await end_parts(site.folder)
    parts: dict[str, Component] = {}

    def keep_port() -> None:
        """Components read the server's address when they start, so all of them restart after a move."""
        if moved := move_port_if_taken(site.folder):
            site.report(moved)
            for name in parts.keys() - {SERVER}:
                parts[name].restart()

    for name in PARTS:
        parts[name] = Component(name, site, keep_port) if name == SERVER else Component(name, site)
    logs = asyncio.create_task(_trim_logs(site.folder))
    try:
        await stop.asked.wait()
    finally:
        logs.cancel()
    await _stop(site, parts, stop)


async def end_parts(folder: ClusterFolder) -> None:
    """Ends components whose supervisor is gone."""
    await asyncio.gather(*(end_process(folder.processes / part, PATIENCE) for part in PARTS))


async def stop_cluster(folder: ClusterFolder, *, at_once: bool = False) -> None:
    """Called from another process: through the supervisor if it runs, else component by component."""
    path, deadline = folder.processes / SUPERVISOR, time.monotonic() + GRACE + 5 * PATIENCE
    if (found := lock_holder(path)) is not None:
        _ask_to_end(found)
        while lock_holder(path) == found and time.monotonic() < deadline:
            await asyncio.sleep(_AGAIN if at_once else 0.02)
            if at_once and lock_holder(path) == found:
                _ask_to_end(found)
        await end_process(path, 0.0)
    for part in (CONTROL, AGENT):
        await end_process(folder.processes / part, PATIENCE)
    await pod_processes.end_all_pods(folder, 0.0 if at_once else GRACE)
    await end_process(folder.processes / SERVER, PATIENCE)


def _ask_to_end(supervisor: LockHolder) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(supervisor.pid, signal.SIGTERM)


def run(folder: ClusterFolder) -> None:
    """Runs the supervisor in the background; its reports go to its log."""
    log_to_stderr("%(asctime)s %(levelname)s %(message)s")

    async def main() -> None:
        stop = Stop()
        stop.on_signals()
        await supervise(Launcher(folder, timestamped("%Y-%m-%d %H:%M:%S")), stop)

    asyncio.run(main())


async def _stop(site: Launcher, parts: dict[str, Component], stop: Stop) -> None:
    in_order = asyncio.create_task(_stop_in_order(site, parts))
    await _until(stop.at_once.wait(), in_order)
    if not in_order.done():
        in_order.cancel()
        await asyncio.gather(*(part.kill() for part in parts.values()))
        await pod_processes.end_all_pods(site.folder, 0.0)


async def _stop_in_order(site: Launcher, parts: dict[str, Component]) -> None:
    """The scheduler first, so that no pod starts; then the agent, so that no container restarts; pods; the API."""
    await parts[CONTROL].stop()
    await parts[AGENT].stop()
    if found := len(pod_processes.running_containers(site.folder)):
        site.report(f"stopping {found} container{'s' * (found != 1)}, {GRACE:g} s at most")
    await pod_processes.end_all_pods(site.folder, GRACE)  # also where only shims are left, which wait for a full disk
    await parts[SERVER].stop()


async def _until(event: Coroutine[Any, Any, Any], *tasks: asyncio.Task[None]) -> None:
    """Returns when the event has come or one of the tasks is done, and raises what that one raised."""
    waiting = asyncio.create_task(event)
    try:
        done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        waiting.cancel()


async def _trim_logs(folder: ClusterFolder) -> None:
    while True:
        for part in (*PARTS, SUPERVISOR):
            trim(log_file(folder, part))
        await asyncio.sleep(LOG_SECONDS)
