"""What an agent must not forget of a pod: kept in the pod's folder, found again after a restart."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.agent.devices import Shares
from understudy.embedded.shim import orders
from understudy.embedded.shim.layout import BadName, PodFolder, pod_folder


class Record(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    node: str
    address: str
    started_at: float
    shares: Shares = {}
    held_as: str = ""  # the uid of the understudy that became this pod; its folder is a link to this one's


def save(folder: PodFolder, record: Record) -> None:
    orders.write(folder.record, record)


def load(folder: PodFolder) -> Record | None:
    try:
        return orders.read(folder.record, Record)
    except msgspec.DecodeError:
        return None


def paths_of(folder: PodFolder) -> list[Path]:
    """Its folder, and that of the understudy it was, under whose name it has things elsewhere."""
    record = load(folder)
    held_as = record.held_as if record is not None else ""
    return [folder.path, *([folder.path.with_name(held_as)] if held_as else [])]


def found(pods: Path) -> Iterator[tuple[str, PodFolder]]:
    """The folders of all pods this machine knows of, by uid."""
    if pods.is_dir():
        for entry in sorted(pods.iterdir()):
            with contextlib.suppress(BadName):
                if entry.is_symlink():  # an understudy that became another pod, and has its files there
                    forget_link(entry)
                elif entry.is_dir():
                    yield entry.name, pod_folder(pods, entry.name)


def remove(folder: PodFolder) -> None:
    """Never while something is mounted below it: what would be deleted then may be the machine itself."""
    if any(line.startswith(f"{folder.path}/") for line in _mount_points()):
        return
    record = load(folder)
    shutil.rmtree(folder.path, ignore_errors=True)
    if record is not None and record.held_as:
        forget_link(folder.path.with_name(record.held_as))


def forget_link(path: Path) -> None:
    """One that leads nowhere any more."""
    with contextlib.suppress(OSError):
        if path.is_symlink() and not path.exists():
            path.unlink()


def _mount_points() -> list[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    return [line.split()[4] for line in lines]
