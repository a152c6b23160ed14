"""Starts a cluster, in this process or in the background, and waits until it is ready or cannot be."""

import argparse
import asyncio
import datetime
import os
import random
import subprocess
import sys
import time

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.reaching import how_to_reach, name_flag, say, title
from understudy.embedded.clusters.access import grant
from understudy.embedded.clusters.files import private_folder, write_private
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import machine_node
from understudy.embedded.clusters.partlogs import last_lines, log_file, open_log
from understudy.embedded.clusters.parts import Site, package_root, part_command
from understudy.embedded.clusters.processes import PARTS, SUPERVISOR, Taken, holder, holding
from understudy.embedded.clusters.readiness import NotReady, until_ready
from understudy.embedded.clusters.settling import (
    Around,
    Wanted,
    all_clusters,
    differences,
    is_free,
    read_settings,
    settled,
)
from understudy.embedded.clusters.supervisor import Stop, end_parts, stop_cluster, supervise
from understudy.embedded.folders import ClusterFolder, ClusterSettings, folder_of

FAILED = 1
LINES_OF_LOG = 3
_left_running: list["subprocess.Popen[bytes]"] = []  # children that are meant to outlive this process


class Bringing(msgspec.Struct, frozen=True):
    """A cluster on its way up."""

    folder: ClusterFolder
    settings: ClusterSettings
    wait: float  # seconds until it is given up
    began: float

    def told(self) -> list[str]:
        seconds = time.monotonic() - self.began
        return [f"{title(self.settings)} is up after {seconds:.1f} s", "", *how_to_reach(self.folder, self.settings)]


def bring_up(wanted: Wanted, options: argparse.Namespace) -> int:
    began = time.monotonic()
    folder = folder_of(wanted.name)
    _make_folder(folder)
    lock = folder.processes / SUPERVISOR
    if holder(lock) is not None:
        return _already_up(folder, wanted)
    try:
        with holding(lock):
            bringing = Bringing(folder, prepare(folder, wanted), options.wait, began)
            if not options.detach:
                return asyncio.run(_in_this_process(bringing))
    except Taken:
        raise BadInput(f"cluster {wanted.name} is being started by another `understudy up`; wait for it") from None
    return _in_background(bringing)


def _make_folder(folder: ClusterFolder) -> None:
    try:
        private_folder(folder.path)
        writable = os.access(folder.path, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        raise BadInput(f"{folder.path}: cannot be written to; set UNDERSTUDY_HOME to a folder that can") from None


def _already_up(folder: ClusterFolder, wanted: Wanted) -> int:
    running = read_settings(folder)
    if running is None:
        raise BadInput(f"cluster {wanted.name} is being started by another `understudy up`; wait for it")
    if found := differences(wanted, running):
        down = f"understudy down --name {wanted.name}"
        raise BadInput(f"cluster {wanted.name} is up, and {' and '.join(found)}; `{down}` first")
    say(f"{title(running)} is up already", "", *how_to_reach(folder, running))
    return 0


def prepare(folder: ClusterFolder, wanted: Wanted) -> ClusterSettings:
    """Everything the parts find in the folder when they start. The caller holds the supervisor's lock."""
    if any(holder(folder.processes / part) for part in PARTS):  # left alone by their supervisor, and on its port
        asyncio.run(end_parts(folder))
    around = Around(
        others=[settings for name, settings in all_clusters().items() if name != wanted.name],
        is_free=is_free,
        local_node=lambda: machine_node(this_machine()),
        chance=random.Random(),
    )
    settings = settled(wanted, read_settings(folder), around)
    if not is_free(settings.address, settings.port):
        raise BadInput(
            f"{settings.address}:{settings.port} cannot be had: another program listens there, or the address is not"
            " one of this machine; choose others with --port and --address"
        )
    write_private(folder.settings, msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
    grant(folder, settings, datetime.datetime.now(datetime.UTC))
    return settings


async def _in_this_process(bringing: Bringing) -> int:
    stop = Stop()
    stop.on_signals()
    cluster = asyncio.create_task(supervise(Site(bringing.folder, _warn), stop))
    ready = asyncio.create_task(until_ready(bringing.folder, bringing.wait))
    asked = asyncio.create_task(stop.asked.wait())
    await asyncio.wait([cluster, ready, asked], return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if ready.done() and (error := ready.exception()) is not None:
        code = _complain(bringing.folder, error)
        stop.ask()
    elif ready.done():
        say(*bringing.told(), "", "Ctrl-C stops it, and its pods.")
    await asyncio.wait([cluster, asked], return_when=asyncio.FIRST_COMPLETED)
    _warn("stopping; Ctrl-C once more stops at once")
    for task in (ready, asked):
        task.cancel()
    await cluster
    if code == 0:
        again = f"understudy up{name_flag(bringing.settings)}"
        say(f"cluster {bringing.settings.name} is down; `{again}` brings it back with its objects")
    return code


def start_supervisor(folder: ClusterFolder) -> "subprocess.Popen[bytes]":
    """In the background, for a cluster that is prepared. It outlives this process unless it is stopped."""
    log = open_log(folder, SUPERVISOR)
    try:
        supervisor = subprocess.Popen(
            part_command(SUPERVISOR, folder),
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


def _in_background(bringing: Bringing) -> int:
    start_supervisor(bringing.folder)
    try:
        asyncio.run(until_ready(bringing.folder, bringing.wait))
    except NotReady as error:
        asyncio.run(stop_cluster(bringing.folder))
        return _complain(bringing.folder, error)
    say(*bringing.told())
    return 0


def _complain(folder: ClusterFolder, error: BaseException) -> int:
    """Says what is wrong, with the last words of every part that left any."""
    if not isinstance(error, NotReady):
        raise error
    print(f"understudy: cluster {folder.path.name} did not come up: {error}", file=sys.stderr)
    for part in (SUPERVISOR, *PARTS):
        if lines := last_lines(folder, part, LINES_OF_LOG):
            print(f"  {log_file(folder, part)}:", *(f"    {line}" for line in lines), sep="\n", file=sys.stderr)
    return FAILED


def _warn(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
