"""What an agent must not forget of a pod: kept in the pod's folder, found again after a restart."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.agent.devices import Shares
from understudy.embedded.shim import orders
from understudy.embedded.shim.layout import BadName, PodFolder, pod_folder


class Record(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    node: str
    address: str
    started_at: float
    shares: Shares = {}


def save(folder: PodFolder, record: Record) -> None:
    orders.write(folder.record, record)


def load(folder: PodFolder) -> Record | None:
    try:
        return orders.read(folder.record, Record)
    except msgspec.DecodeError:
        return None


def found(pods: Path) -> Iterator[tuple[str, PodFolder]]:
    """The folders of all pods this machine knows of, by uid."""
    if pods.is_dir():
        for entry in sorted(pods.iterdir()):
            with contextlib.suppress(BadName):
                if entry.is_dir():
                    yield entry.name, pod_folder(pods, entry.name)


def remove(folder: PodFolder) -> None:
    """Never while something is mounted below it: what would be deleted then may be the machine itself."""
    if not any(line.startswith(f"{folder.path}/") for line in _mount_points()):
        shutil.rmtree(folder.path, ignore_errors=True)


def _mount_points() -> list[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    return [line.split()[4] for line in lines]
