"""What this machine offers, as the system tells it: also inside containers and with some GPUs hidden."""

import os
from pathlib import Path

import pytest

from understudy.embedded.clusters.machine import (
    Gpu,
    Places,
    cpu_quantity,
    gpus,
    memory_quantity,
    node_name,
    this_machine,
)

CPUS = len(os.sched_getaffinity(0))
SMI = """#!/bin/sh
echo "0, GPU-aaaa, NVIDIA H100 80GB HBM3, 81559"
echo "1, GPU-bbbb, NVIDIA H100 80GB HBM3, 81559"
echo "2, GPU-cccc, Tesla T4, [N/A]"
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A system that says nothing yet, and has no tool of NVIDIA's."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for folder in ("bin", "proc/self", "cgroup"):
        (tmp_path / folder).mkdir(parents=True)
    return Places(tmp_path / "proc", tmp_path / "cgroup")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def install_smi(places: Places) -> None:
    tool = places.proc.parent / "bin" / "nvidia-smi"
    write(tool, SMI)
    tool.chmod(0o755)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("box", "box"),
        ("Box.Example.ORG", "box.example.org"),
        ("my_laptop (2)", "my-laptop-2"),
        ("-.-", "localhost"),
        ("", "localhost"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_host_becomes_a_node(host: str, name: str) -> None:
    assert node_name(host) == name


def test_without_limits_it_is_the_whole_machine(places: Places) -> None:
    write(places.proc / "meminfo", "MemTotal:       16384 kB\nMemFree: 5 kB\n")
    assert cpu_quantity(places) == str(CPUS)
    assert memory_quantity(places) == "16384Ki"


def test_limits_of_a_container_count_wherever_they_are_set(places: Places) -> None:
    write(places.proc / "meminfo", "MemTotal:       16384 kB\n")
    write(places.proc / "self" / "cgroup", "0::/outer/inner\n")
    write(places.cgroups / "outer" / "memory.max", "1048576\n")
    write(places.cgroups / "outer" / "inner" / "memory.max", "max\n")
    write(places.cgroups / "outer" / "inner" / "cpu.max", "50000 100000\n")
    write(places.cgroups / "outer" / "cpu.max", "max 100000\n")
    assert cpu_quantity(places) == "500m"
    assert memory_quantity(places) == "1024Ki"


def test_limits_of_the_first_version_of_cgroups(places: Places) -> None:
    write(places.proc / "meminfo", "MemTotal:       16384 kB\n")
    write(places.proc / "self" / "cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n")
    write(places.cgroups / "memory" / "memory.limit_in_bytes", "9223372036854771712\n")
    write(places.cgroups / "memory" / "job" / "memory.limit_in_bytes", "2097152\n")
    write(places.cgroups / "cpu" / "job" / "cpu.cfs_quota_us", "100000\n")
    write(places.cgroups / "cpu" / "job" / "cpu.cfs_period_us", "100000\n")
    assert cpu_quantity(places) == "1"
    assert memory_quantity(places) == "2048Ki"


def test_no_gpus_is_fine(places: Places) -> None:
    assert gpus(places) == []


def test_gpus_as_the_tool_lists_them(places: Places) -> None:
    install_smi(places)
    assert gpus(places) == [
        Gpu("GPU-aaaa", "NVIDIA-H100-80GB-HBM3", 81559),
        Gpu("GPU-bbbb", "NVIDIA-H100-80GB-HBM3", 81559),
        Gpu("GPU-cccc", "Tesla-T4"),
    ]


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("1", ["GPU-bbbb"]),
        ("2,0", ["GPU-cccc", "GPU-aaaa"]),
        ("GPU-b,GPU-aaaa", ["GPU-bbbb", "GPU-aaaa"]),
        ("0,7,1", ["GPU-aaaa"]),
        ("", []),
        ("-1", []),
    ],
)
def test_gpus_hidden_from_this_process_are_not_offered(
    places: Places, monkeypatch: pytest.MonkeyPatch, visible: str, found: list[str]
) -> None:
    install_smi(places)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu.id for gpu in gpus(places)] == found


def test_gpus_as_the_driver_lists_them(places: Places) -> None:
    folder = places.proc / "driver" / "nvidia" / "gpus" / "0000:01:00.0"
    write(folder / "information", "Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-dddd\nDevice Minor: \t 0\n")
    assert gpus(places) == [Gpu("GPU-dddd", "NVIDIA-A100-SXM4-40GB")]


def test_a_tool_that_fails_means_no_gpus(places: Places) -> None:
    install_smi(places)
    (places.proc.parent / "bin" / "nvidia-smi").write_text("#!/bin/sh\necho no driver; exit 9\n")
    assert gpus(places) == []


def test_this_very_machine_can_be_offered() -> None:
    machine = this_machine()
    assert machine.name
    assert machine.memory.endswith("Ki")
