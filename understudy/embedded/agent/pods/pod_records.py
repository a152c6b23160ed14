"""The folders of pods on disk: the record of what the agent gave to a pod, and the removal of the folder."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.agent.containers.device_manager import DeviceShares
from understudy.embedded.agent.pods import pod_records
from understudy.embedded.agent.pods.ended_pods import EndedPods
from understudy.embedded.agent.volumes.volumes import PodVolumes
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.shim import container_files
from understudy.embedded.shim.pod_folders import BadName, PodFolder, pod_folder


class PodRecord(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    node: str
    address: str
    started_at: float
    shares: DeviceShares = {}
    held_as: str = ""  # the uid of the understudy that became this pod; the understudy's folder is a link to this one


def save_record(folder: PodFolder, record: PodRecord) -> None:
    container_files.write(folder.record, record)


def load_record(folder: PodFolder) -> PodRecord | None:
    try:
        return container_files.read(folder.record, PodRecord)
    except msgspec.DecodeError:
        return None


def paths_of(folder: PodFolder) -> list[Path]:
    """The pod's folder, and that of the understudy it was, after which some folders in memory are named."""
    record = load_record(folder)
    held_as = record.held_as if record is not None else ""
    return [folder.path, *([folder.path.with_name(held_as)] if held_as else [])]


def found_pod_folders(pods: Path) -> Iterator[tuple[str, PodFolder]]:
    """The folders of all pods on this machine, with their uids."""
    if pods.is_dir():
        for entry in sorted(pods.iterdir()):
            with contextlib.suppress(BadName):
                if entry.is_symlink():  # of an understudy that became another pod
                    remove_broken_link(entry)
                elif entry.is_dir():
                    yield entry.name, pod_folder(pods, entry.name)


def remove_pod_folder(folder: PodFolder) -> None:
    """Never removes a folder with mounts below it: that could delete files of the machine itself."""
    if any(line.startswith(f"{folder.path}/") for line in _mount_points()):
        return
    record = load_record(folder)
    shutil.rmtree(folder.path, ignore_errors=True)
    if record is not None and record.held_as:
        remove_broken_link(folder.path.with_name(record.held_as))


def remove_broken_link(path: Path) -> None:
    """Removes a link whose target no longer exists."""
    with contextlib.suppress(OSError):
        if path.is_symlink() and not path.exists():
            path.unlink()


def _mount_points() -> list[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    return [line.split()[4] for line in lines]


_PAUSE, _TRIES = 0.1, 50


class PodCleanup:
    """Removes the folders of deleted pods off the event loop. `delay` are seconds that let replacements start first."""

    def __init__(self, folder: ClusterFolder, ended: EndedPods, delay: float = 0.0) -> None:
        self._delay = delay
        self._ended = ended
        self._claims = folder.claims
        self._left: list[PodFolder] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, folder: PodFolder) -> None:
        self._left.append(folder)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._remove_later())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._remove_folders(self._left)

    async def _remove_later(self) -> None:
        pause, tries = self._delay, _TRIES
        while self._left and tries:
            await asyncio.sleep(pause)
            left, self._left = self._left, []
            stubborn = await asyncio.to_thread(self._remove_folders, left)
            pause, tries = (_PAUSE, tries - 1) if stubborn else (self._delay, _TRIES)
            self._left += stubborn

    def _remove_folders(self, left: list[PodFolder]) -> list[PodFolder]:
        """Returns the folders that still exist: something was written into them meanwhile, or they contain mounts."""
        for folder in left:
            self._ended.keep(folder)
            for path in pod_records.paths_of(folder):
                PodVolumes(PodFolder(path), self._claims).remove()
            pod_records.remove_pod_folder(folder)
        return [folder for folder in left if os.path.lexists(folder.path)]
