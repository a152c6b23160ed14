"""CPUs, memory and NVIDIA GPUs of this machine, as far as this process may use them."""

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

QUERY = "--query-gpu=index,uuid,name,memory.total"
QUERY_SECONDS = 10.0
_NO_LIMIT = 1 << 60  # cgroup v1 writes a larger number where there is no limit


class Gpu(msgspec.Struct, frozen=True):
    id: str  # as CUDA_VISIBLE_DEVICES takes it
    product: str  # as a label: NVIDIA-H100-80GB-HBM3
    memory_mib: int = 0


class Machine(msgspec.Struct, frozen=True):
    name: str
    address: str
    cpu: str  # Kubernetes quantities
    memory: str
    gpus: tuple[Gpu, ...] = ()


class Places(msgspec.Struct, frozen=True):
    """The file systems to read; tests pass their own."""

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")


SYSTEM = Places()


def this_machine(places: Places = SYSTEM) -> Machine:
    return Machine(
        name=node_name(socket.gethostname()),
        address=_address(),
        cpu=cpu_quantity(places),
        memory=memory_quantity(places),
        gpus=tuple(gpus(places)),
    )


def node_name(host: str) -> str:
    """Turns a host name into a valid name of a node: lower-case letters, digits, dashes and dots."""
    parts = (re.sub(r"[^a-z0-9-]+", "-", part).strip("-")[:63].strip("-") for part in host.lower().split("."))
    return ".".join(part for part in parts if part)[:253].rstrip(".-") or "localhost"


def cpu_quantity(places: Places) -> str:
    """The CPUs this process may run on, or the CPU limit of its cgroup if that is less."""
    whole = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    thousandths = min([whole * 1000, *(max(int(share * 1000), 1) for share in _cpu_shares(places))])
    return str(thousandths // 1000) if thousandths % 1000 == 0 else f"{thousandths}m"


def memory_quantity(places: Places) -> str:
    """The memory of the machine, or the limit of the cgroup if that is less; in Ki, as a kubelet reports it."""
    return f"{min([_machine_memory(places), *_memory_limits(places)]) // 1024}Ki"


def _machine_memory(places: Places) -> int:
    with contextlib.suppress(OSError):
        if found := re.search(r"^MemTotal:\s+(\d+) kB", (places.proc / "meminfo").read_text(), re.MULTILINE):
            return int(found[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cpu_shares(places: Places) -> Iterator[float]:
    for folder in _cgroup_folders(places, "cpu"):
        quota, _, period = _line(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _line(folder / "cpu.cfs_quota_us"), _line(folder / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)


def _memory_limits(places: Places) -> Iterator[int]:
    for folder in _cgroup_folders(places, "memory"):
        limit = _line(folder / "memory.max") or _line(folder / "memory.limit_in_bytes")
        if limit.isdecimal() and 0 < int(limit) < _NO_LIMIT:
            yield int(limit)


def _cgroup_folders(places: Places, controller: str) -> Iterator[Path]:
    """The cgroup of this process and its parents, for cgroup v1 and v2: each of them may set a limit."""
    for line in _lines(places.proc / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            root = places.cgroups / controller if controllers else places.cgroups
            inner = Path(path.lstrip("/"))
            yield from (root / folder for folder in (inner, *inner.parents))


def _line(path: Path) -> str:
    return next(iter(_lines(path)), "")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def gpus(places: Places) -> list[Gpu]:
    """NVIDIA GPUs, without those that CUDA_VISIBLE_DEVICES hides from this process."""
    found = list(_asked()) or list(_listed(places))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [gpu for _, gpu in found]
    return list(_visible(found, [part.strip() for part in visible.split(",")]))


def _visible(found: Sequence[tuple[str, Gpu]], wanted: Sequence[str]) -> Iterator[Gpu]:
    """As CUDA reads the variable: indexes or prefixes of ids, in that order, up to the first unknown one."""
    for word in wanted:
        match = [gpu for index, gpu in found if word == index or (word.startswith("GPU-") and gpu.id.startswith(word))]
        if not match:
            return
        yield match[0]


def _asked() -> Iterator[tuple[str, Gpu]]:
    command = ["nvidia-smi", QUERY, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return
    for line in done.stdout.splitlines():
        index, uuid, name, memory = (part.strip() for part in line.split(","))
        yield index, Gpu(uuid, _product(name), int(memory) if memory.isdecimal() else 0)


def _listed(places: Places) -> Iterator[tuple[str, Gpu]]:
    """From the files of the driver, if nvidia-smi is not installed. The minor number of a device is its index."""
    for file in sorted((places.proc / "driver" / "nvidia" / "gpus").glob("*/information")):
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in _lines(file))}
        index = fields.get("Device Minor", "")
        yield index, Gpu(fields.get("GPU UUID") or index, _product(fields.get("Model", "")))


def _product(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-_.")[:63].strip("-_.") or "NVIDIA"


def _address() -> str:
    """The address of this machine on its network. Connecting a UDP socket sends nothing."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address
    return "127.0.0.1"
