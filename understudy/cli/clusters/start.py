"""Starts a cluster, in this process or in the background, and waits until it is ready. What ran before runs on."""

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec

from understudy.cli.clusters.messages import (
    StartVerdict,
    access_lines,
    cluster_title,
    judge_start,
    name_flag,
    print_lines,
    start_warnings,
)
from understudy.cli.errors import BadInput
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings, folder_of
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.api_port import save_settings, wait_until_port_lost
from understudy.embedded.clusters.component import Launcher, component_command, package_root
from understudy.embedded.clusters.component_logs import last_lines, log_file, open_log
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import machine_node
from understudy.embedded.clusters.private_files import private_folder
from understudy.embedded.clusters.process_lock import (
    PARTS,
    SERVER,
    SUPERVISOR,
    AlreadyRunning,
    LockHolder,
    hold_lock,
    lock_holder,
)
from understudy.embedded.clusters.readiness import Readiness, readiness
from understudy.embedded.clusters.settings import (
    MachineState,
    RequestedSettings,
    all_clusters,
    is_port_free,
    read_settings,
    resolve_settings,
    settings_differences,
)
from understudy.embedded.clusters.supervisor import Stop, stop_cluster, supervise
from understudy.embedded.process_log import timestamped

FAILED, REFUSED = 1, 2
LINES_OF_LOG = 3
LOST = Readiness(failed=set(), waiting={}, kinds=set(), objects={}, is_port_lost=True)
_LOOK = 0.02
_left_running: list["subprocess.Popen[bytes]"] = []  # children that are meant to outlive this process
_warn = timestamped("%H:%M:%S")


class ClusterStart(msgspec.Struct, frozen=True):
    """A cluster that is being started."""

    folder: ClusterFolder
    wait: float  # seconds for it to become ready
    began: float
    is_new: bool  # it was never up before
    orphan: LockHolder | None  # a server that an earlier supervisor left alone; the next one replaces it

    @property
    def settings(self) -> ClusterSettings:
        """The settings as they are now. The port may have changed since the start."""
        return self.folder.read_settings()

    async def readiness(self, seconds: float | None) -> Readiness:
        """The readiness of the cluster that starts now, not of processes left from before."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.orphan is not None and lock_holder(self.folder.processes / SERVER) == self.orphan:
                    await asyncio.sleep(_LOOK)
        lost = asyncio.create_task(wait_until_port_lost(self.folder))
        ready = asyncio.create_task(readiness(self.folder, seconds))
        done, _ = await asyncio.wait([lost, ready], return_when=asyncio.FIRST_COMPLETED)
        for task in (lost, ready):
            task.cancel()
        await asyncio.gather(lost, ready, return_exceptions=True)
        return ready.result() if ready in done else LOST

    def verdict(self, found: Readiness) -> StartVerdict:
        return judge_start(found, may_be_stopped=self.is_new and not pod_processes.running_containers(self.folder))

    def summary(self) -> list[str]:
        seconds, settings = time.monotonic() - self.began, self.settings
        return [f"{cluster_title(settings)} is up after {seconds:.1f} s", "", *access_lines(self.folder, settings)]


def start_cluster(wanted: RequestedSettings, options: argparse.Namespace) -> int:
    began = time.monotonic()
    folder = folder_of(wanted.name)
    with _folder_made(folder):
        lock = folder.processes / SUPERVISOR
        if lock_holder(lock) is not None:
            return _already_up(folder, wanted, options.wait)
        try:
            with hold_lock(lock):
                orphan = lock_holder(folder.processes / SERVER)
                bringing = ClusterStart(folder, options.wait, began, not folder.settings.exists(), orphan)
                prepare_cluster(folder, wanted)
                code = 0 if options.detach else asyncio.run(_in_this_process(bringing))
        except AlreadyRunning:
            raise BadInput(f"cluster {wanted.name} is being started by another `understudy up`; wait for it") from None
        code = _in_background(bringing) if options.detach else code
        if code == REFUSED:
            raise BadInput(_cannot_be_had(bringing.settings))
        return code


@contextlib.contextmanager
def _folder_made(folder: ClusterFolder) -> Iterator[None]:
    """Refused settings leave no new folder behind."""
    existed = folder.path.exists()
    _make_folder(folder)
    try:
        yield
    except BadInput:
        if not existed and lock_holder(folder.processes / SUPERVISOR) is None:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def _make_folder(folder: ClusterFolder) -> None:
    try:
        private_folder(folder.path)
        writable = os.access(folder.path, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        raise BadInput(f"{folder.path}: cannot be written to; set UNDERSTUDY_HOME to a folder that can") from None


def _already_up(folder: ClusterFolder, wanted: RequestedSettings, wait: float) -> int:
    """Handles a cluster whose supervisor runs. Another `understudy up` may just have begun to start it."""
    running = read_settings(folder)
    if running is None:
        raise BadInput(f"cluster {wanted.name} is being started by another `understudy up`; wait for it")
    if other := settings_differences(wanted, running):
        down = f"understudy down --name {wanted.name}"
        raise BadInput(f"cluster {wanted.name} is up, and {' and '.join(other)}; `{down}` first")
    found = asyncio.run(readiness(folder, wait))
    if not found.answers:
        return _complain(folder, found, StartVerdict.ABSENT, wait)
    running = folder.read_settings()
    print_lines(f"{cluster_title(running)} is up already", "", *access_lines(folder, running))
    for line in start_warnings(found, running):
        print(line, file=sys.stderr)
    return 0


def prepare_cluster(folder: ClusterFolder, wanted: RequestedSettings) -> ClusterSettings:
    """Everything the parts find in the folder when they start. The caller holds the supervisor's lock.

    Parts left alone by their supervisor run on meanwhile; the next supervisor replaces them.
    """
    before = read_settings(folder)
    own = (before.address, before.port) if before and lock_holder(folder.processes / SERVER) else None

    def can_be_had(address: str, port: int) -> bool:
        return (address, port) == own or is_port_free(address, port)

    around = MachineState(
        others=[settings for name, settings in all_clusters().items() if name != wanted.name],
        is_port_free=can_be_had,
        local_node=lambda: machine_node(this_machine()),
        chance=random.Random(),
    )
    settings = resolve_settings(wanted, before, around)
    if not can_be_had(settings.address, settings.port):
        raise BadInput(_cannot_be_had(settings))
    try:
        save_settings(folder, settings)
    except OSError as problem:
        with contextlib.suppress(OSError):
            if before is not None:
                save_settings(folder, before)  # parts that run on go by it
        raise BadInput(f"{folder.path}: cannot be written to: {problem.strerror}") from None
    if before is not None and before.port != settings.port and wanted.port is None:
        _warn(f"port {before.port} is taken by another program: the API is at port {settings.port} from now on")
    return settings


def _cannot_be_had(settings: ClusterSettings) -> str:
    return (
        f"{settings.address}:{settings.port} cannot be had: another program listens there, or the address is not"
        " one of this machine; choose others with --port and --address"
    )


async def _in_this_process(bringing: ClusterStart) -> int:
    stop = Stop()
    stop.on_signals()
    cluster = asyncio.create_task(supervise(Launcher(bringing.folder, _warn), stop))
    ready = asyncio.create_task(_until_it_is_up(bringing))
    asked = asyncio.create_task(stop.asked.wait())
    await asyncio.wait([cluster, ready, asked], return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if ready.done() and (code := _code(ready)):
        stop.ask()
    await asyncio.wait([cluster, asked], return_when=asyncio.FIRST_COMPLETED)
    _warn("stopping; Ctrl-C once more stops at once")
    for task in (ready, asked):
        task.cancel()
    await cluster
    if code == 0:
        again = f"understudy up{name_flag(bringing.settings)}"
        _tell(f"cluster {bringing.settings.name} is down; `{again}` brings it back with its objects")
    return code


def _code(ready: "asyncio.Task[int]") -> int:
    """The exit code of a readiness check. A check that could not be made is no reason to stop the cluster."""
    if (problem := ready.exception()) is not None:
        _warn(f"whether it is ready cannot be told: {problem!r}")
        return 0
    return ready.result()


async def _until_it_is_up(bringing: ClusterStart) -> int:
    """The exit code, other than 0 where all is to be stopped. Else one that does not answer in time is waited for."""
    found = await bringing.readiness(bringing.wait)
    verdict = bringing.verdict(found)
    if verdict is StartVerdict.STOP:
        return _complain(bringing.folder, found, verdict, bringing.wait)
    if verdict is StartVerdict.ABSENT:
        _complain(bringing.folder, found, verdict, bringing.wait)
        found = await readiness(bringing.folder, None)
    _tell(*bringing.summary(), "", "Ctrl-C stops it, and its pods.")
    for line in start_warnings(found, bringing.settings):
        _warn(line)
    return 0


def start_supervisor(folder: ClusterFolder) -> "subprocess.Popen[bytes]":
    """Starts the supervisor of a prepared cluster in the background. The supervisor outlives this process unless it is
    stopped."""
    log = open_log(folder, SUPERVISOR)
    try:
        supervisor = subprocess.Popen(
            component_command(SUPERVISOR, folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=package_root(),
        )
    finally:
        os.close(log)
    _left_running.append(supervisor)
    return supervisor


def _in_background(bringing: ClusterStart) -> int:
    supervisor = start_supervisor(bringing.folder)
    found = asyncio.run(bringing.readiness(bringing.wait))
    verdict = bringing.verdict(found)
    if verdict is StartVerdict.STOP:
        supervisor.terminate()  # it may not have come to say yet that it is the one to be asked
        asyncio.run(stop_cluster(bringing.folder))
        supervisor.wait()
    if verdict is not StartVerdict.UP:
        return _complain(bringing.folder, found, verdict, bringing.wait)
    print_lines(*bringing.summary())
    for line in start_warnings(found, bringing.settings):
        print(line, file=sys.stderr)
    return 0


def _complain(folder: ClusterFolder, found: Readiness, verdict: StartVerdict, wait: float) -> int:
    """Prints what is wrong, with the last log lines of every component that left any."""
    settings, after = folder.read_settings(), "" if found.is_port_lost else f"after {wait:g} s "
    if found.is_port_lost and verdict is StartVerdict.STOP:
        return REFUSED
    lines = [f"understudy: cluster {settings.name} did not come up: {after}{found.lacks}"]
    if verdict is StartVerdict.ABSENT:
        lines.append(
            f"  what runs goes on, and it is tried again for ever; `understudy down{name_flag(settings)}` ends it"
        )
    for part in (SUPERVISOR, *PARTS):
        if said := last_lines(folder, part, LINES_OF_LOG):
            lines += [f"  {log_file(folder, part)}:", *(f"    {line}" for line in said)]
    with contextlib.suppress(OSError):
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    return FAILED


def _tell(*lines: str) -> None:
    """Like `print_lines`, but a closed stdout does not end the cluster."""
    with contextlib.suppress(OSError, ValueError):
        print_lines(*lines)
