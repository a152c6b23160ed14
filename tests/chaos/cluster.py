"""The cluster of a chaos run: a folder of its own, on a small disk where mounting is permitted; `up` and `down`; and a
reaper that ends everything should the run itself be killed."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import yaml

from bench.hotswap.bench_cluster import LOOP
from tests.chaos.member import LOCKS
from tests.chaos.workloads import GPU, SLICE, Shape
from tests.faults.server_process import free_port, processes_of
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.component import package_root
from understudy.embedded.clusters.process_lock import LockHolder, lock_holder

NAME = "chaos"
DISK_MEGABYTES = 512
MAKE_FILE_SYSTEM = ("mkfs.ext4", "-q", "-F", "-m", "0", "-b", "1024")  # small blocks: full means full for logs, too
UP_SECONDS = 120  # how long `up` may take on a machine that is busy with other things


class Disk(msgspec.Struct, frozen=True):
    """Where the cluster is."""

    path: Path
    kind: str  # loop, tmpfs, or plain: not a file system of its own
    why: str = ""  # it is not

    @property
    def can_be_filled(self) -> bool:
        return self.kind != "plain"

    @property
    def can_be_slow(self) -> bool:
        return self.kind != "tmpfs"  # which does nothing on fsync


class ChaosCluster:
    """`work` has the ledger and the locks, which must outlive a full disk; the cluster itself is on `disk`."""

    def __init__(self, work: Path, disk: Disk, shape: Shape) -> None:
        self.work = work
        self.disk = disk
        self.shape = shape
        self.home = disk.path / "home"
        self.temporary = work / "tmp"
        self.folder = ClusterFolder(self.home / "clusters" / NAME)
        for path in (self.home, self.temporary, work / LOCKS):
            path.mkdir()
        (work / "cluster.yaml").write_text(yaml.safe_dump(_description(shape)))
        (work / "understudy.yaml").write_text(yaml.safe_dump(LOOP))

    @property
    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.folder.read_settings().nodes]

    async def first_up(self) -> None:
        port = str(free_port())
        flags = ("-f", str(self.work / "cluster.yaml"), "--settings", str(self.work / "understudy.yaml"))
        code, said = await self.understudy(
            "up", "--detach", "--name", NAME, "--wait", str(UP_SECONDS), "--port", port, *flags
        )
        if code:
            raise RuntimeError(f"the cluster did not come up: {said}")

    async def understudy(self, *arguments: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        environment = {**os.environ, "UNDERSTUDY_HOME": str(self.home), "TMPDIR": str(self.temporary)}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "understudy",
            *arguments,
            env=environment,
            cwd=package_root(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            said, _ = await asyncio.wait_for(process.communicate(), UP_SECONDS + 60)
        except TimeoutError:
            process.kill()
            await process.wait()
            return -1, f"understudy {' '.join(arguments)}: no end within {UP_SECONDS + 60} s"
        return process.returncode or 0, said.decode(errors="replace")

    def part(self, name: str) -> LockHolder | None:
        return lock_holder(self.folder.processes / name)


def _description(shape: Shape) -> dict[str, object]:
    offers = {"cpu": 64, "memory": "256Gi", "accelerators": {GPU: shape.gpus}}
    pools = [
        {"name": "slice", "count": shape.slices * shape.nodes, **offers, "topology": _topology(shape.nodes)},
        {"name": "spare", "count": shape.nodes, "spare": "keep", **offers, "topology": _topology(shape.nodes)},
    ]
    return {"name": NAME, "pools": pools}


def _topology(size: int) -> dict[str, object]:
    return {"key": SLICE, "size": size}


@contextlib.contextmanager
def working_folder(*, mounts: bool) -> Iterator[tuple[Path, Disk]]:
    """Guarded: when this process ends, however it does, all processes that know the folder end, and it is removed."""
    work = Path(tempfile.mkdtemp(prefix="understudy-chaos-"))
    with _reaped(work):
        disk = _mounted(work) if mounts else _plain(work, "mounting is not permitted here")
        yield work, disk


def _plain(work: Path, why: str) -> Disk:
    path = work / "disk"
    path.mkdir(exist_ok=True)
    return Disk(path, "plain", why)


def _mounted(work: Path) -> Disk:
    """A file system in a file, which can be full and slow; else one in memory, which can be full."""
    path, image = work / "disk", work / "disk.img"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_MEGABYTES << 20)
    if _does(*MAKE_FILE_SYSTEM, str(image)) and _does("mount", "-o", "loop", str(image), str(path)):
        return Disk(path, "loop")
    image.unlink()
    if _does("mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "chaos", str(path)):
        return Disk(path, "tmpfs")
    return _plain(work, "neither a loop device nor tmpfs could be mounted")


def _does(*command: str) -> bool:
    """Whether it can be done here."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def can_mount() -> bool:
    """In a mount namespace of this run's own, whose mounts go with its last process."""
    return _does("unshare", "-m", "--propagation", "private", "true")


@contextlib.contextmanager
def _reaped(work: Path) -> Iterator[None]:
    """The reaper waits for the end of its input, which comes when this process is gone."""
    command = [sys.executable, "-m", "tests.chaos.process_reaper", str(work)]
    reaper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, cwd=package_root())
    try:
        yield
    finally:
        assert reaper.stdin is not None
        reaper.stdin.close()
        reaper.wait()


def mounts_under(path: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines]
    return [point for point in points if Path(point).is_relative_to(path)]


def left_over(cluster: ChaosCluster) -> list[str]:
    """After `down`: processes, mounts, and files outside of the cluster's folder."""
    found = [f"process {pid}: {command}" for pid, command in processes_of(cluster.disk.path).items()]
    disk = str(cluster.disk.path)
    found += [f"mount {point}" for point in mounts_under(cluster.disk.path) if point != disk]
    found += [f"file {path}" for path in cluster.temporary.rglob("*")]
    with contextlib.suppress(FileNotFoundError):
        groups = cluster.folder.control_groups.read_text().splitlines()
        found += [f"control group {group}" for group in groups if Path(group).exists()]
    return found


def end_processes(path: Path, but: Sequence[int] = ()) -> list[str]:
    """Kills all that know the folder, again and again until there are none; what they were."""
    killed: dict[int, str] = {}
    for _ in range(200):
        found = {pid: command for pid, command in processes_of(path).items() if pid not in but}
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        killed |= found
    return list(killed.values())
