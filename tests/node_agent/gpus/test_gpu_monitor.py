"""GPUs as a stand-in for nvidia-smi and the kernel's log report them, into conditions."""

import asyncio
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.node_agent.nvidia_smi import TWO_GPUS, TWO_ROWS, NvidiaSmi
from understudy.node_agent.gpus.gpu_conditions import CONDITIONS, REASONS, GpuCondition
from understudy.node_agent.gpus.gpu_monitor import GpuMonitor, XidMonitor
from understudy.node_agent.gpus.gpu_tool import GpuTool, ToolFails, find_tool, pci_gpus
from understudy.node_agent.gpus.xid_log import FATAL, KernelLog

MISSING, UNHEALTHY, XID = CONDITIONS
HANDLE = "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"


@pytest.fixture
def smi(tmp_path: Path) -> NvidiaSmi:
    return NvidiaSmi(tmp_path)


class Told:
    def __init__(self) -> None:
        self.now: dict[str, GpuCondition] = {}

    def tell(self, conditions: Sequence[GpuCondition]) -> None:
        self.now.update({one.type: one for one in conditions})
        assert {one.reason for one in conditions} <= REASONS

    @property
    def status(self) -> dict[str, tuple[str, str]]:
        return {kind: (one.status, one.reason) for kind, one in self.now.items()}


HEALTHY = {MISSING: ("False", "AllGPUsPresent"), UNHEALTHY: ("False", "NoGPUProblem")}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param({"gpus": "00000000:3B:00.0, 2\n00000000:86:00.0, 0\n", "rows": TWO_ROWS},
                     {**HEALTHY, UNHEALTHY: ("True", "UncorrectableECCErrors")}, id="uncorrectable memory errors"),
        pytest.param({"gpus": TWO_GPUS, "rows": "00000000:3B:00.0, No\n00000000:86:00.0, Yes\n"},
                     {**HEALTHY, UNHEALTHY: ("True", "RowRemapFailure")}, id="a row that cannot be remapped"),
        pytest.param({"gpus": "00000000:86:00.0, 0\n", "rows": TWO_ROWS},
                     {**HEALTHY, MISSING: ("True", "GPULost")}, id="one GPU is not listed any more"),
        pytest.param({"gpus": HANDLE, "code": 15}, {**HEALTHY, MISSING: ("True", "GPULost")}, id="fallen off the bus"),
        pytest.param({"gpus": "No devices were found\n", "code": 6},
                     {**HEALTHY, MISSING: ("True", "GPULost")}, id="all GPUs are gone"),
    ],
)  # fmt: skip
def test_a_broken_gpu_is_a_condition_and_heals(
    smi: NvidiaSmi, said: dict[str, str], found: dict[str, tuple[str, str]]
) -> None:
    async def scenario() -> None:
        told = Told()
        monitor = GpuMonitor(GpuTool([str(smi.path)]), told.tell)
        await monitor.look()
        assert told.status == HEALTHY
        smi.says(**said)
        await monitor.look()
        assert told.status == found
        smi.says(TWO_GPUS, TWO_ROWS)
        await monitor.look()
        assert told.status == HEALTHY

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"gpus": ""}, id="nothing"),
        pytest.param({"gpus": "\x00\x01 GPU, GPU, GPU\n,,,\n"}, id="garbage"),
        pytest.param({"err": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
                      "code": 9}, id="no driver"),
        pytest.param({"hangs": True}, id="a tool that hangs"),
    ],
)  # fmt: skip
def test_a_tool_that_fails_says_nothing_about_gpus_and_costs_no_seat(smi: NvidiaSmi, said: dict[str, str]) -> None:
    async def scenario() -> None:
        told = Told()
        monitor = GpuMonitor(GpuTool([str(smi.path)]), told.tell)
        await monitor.look()
        smi.says(**said)
        limit = 0.5 if "hangs" in said else 60.0
        monitor = GpuMonitor(GpuTool([str(smi.path)], limit), told.tell)
        for _ in range(2):
            await monitor.look()
            assert told.status == HEALTHY, "the last answer still counts"
        await monitor.look()
        assert told.status == {MISSING: ("Unknown", "GPUToolFails"), UNHEALTHY: ("Unknown", "GPUToolFails")}

    asyncio.run(scenario())


def test_gpus_without_error_correction_and_remapping_are_healthy(smi: NvidiaSmi) -> None:
    smi.says("00000000:01:00.0, [N/A]\n", "00000000:01:00.0, [N/A]\n")
    told = Told()
    asyncio.run(GpuMonitor(GpuTool([str(smi.path)]), told.tell, expected=1).look())
    assert told.status == HEALTHY


def test_a_tool_that_is_not_there_is_said_in_words() -> None:
    with pytest.raises(ToolFails, match="no-such-tool: No such file"):
        asyncio.run(GpuTool(["/no-such-tool"]).ask())


def test_nvidia_smi_goes_before_nvml(
    smi: NvidiaSmi, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("PATH", str(smi.path.parent))
    assert find_tool() == find_tool("nvidia-smi") == (str(smi.path),)
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    assert find_tool("nvidia-smi") is None
    assert find_tool("none") is None


NVML = """
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    class NVMLError(Exception):
        def __init__(self, value):
            self.value = value

    class NVMLError_GpuIsLost(NVMLError):
        pass

    class NVMLError_NotSupported(NVMLError):
        pass

    class Pci:
        def __init__(self, bus):
            self.busId = bus

    BUS = [b"00000000:3B:00.0", "00000000:86:00.0", "00000000:AF:00.0"]

    def nvmlInit():
        pass

    def nvmlDeviceGetCount():
        return 3

    def nvmlDeviceGetHandleByIndex(index):
        if index == 2:
            raise NVMLError_GpuIsLost(15)
        return index

    def nvmlDeviceGetPciInfo(handle):
        return Pci(BUS[handle])

    def nvmlDeviceGetTotalEccErrors(handle, kind, since):
        if handle == 0:
            raise NVMLError_NotSupported(3)
        return 4

    def nvmlDeviceGetRemappedRows(handle):
        return (0, 0, 0, handle)
"""


def test_nvml_is_read_as_nvidia_smi_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pynvml.py").write_text(textwrap.dedent(NVML))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    report = asyncio.run(GpuTool((sys.executable, "-m", "understudy.node_agent.gpus.nvml"), limit=60.0).ask())
    assert report.present == ("00000000:3B:00.0", "00000000:86:00.0")
    assert report.lost == ("2",)
    assert report.uncorrectable == (("00000000:86:00.0", 4),)
    assert report.unmapped == ("00000000:86:00.0",)


def test_the_gpus_of_the_driver_are_counted(tmp_path: Path) -> None:
    drivers, devices = tmp_path / "drivers", tmp_path / "devices"
    for name, vendor, kind, driver in (
        ("3b", "0x10de", "0x030200", "nvidia"),
        ("86", "0x10de", "0x030000", "nvidia"),
        ("87", "0x10de", "0x040300", "snd_hda_intel"),  # its audio function
        ("af", "0x10de", "0x030200", "vfio-pci"),  # lent to a virtual machine
        ("d8", "0x10de", "0x030200", ""),
        ("01", "0x8086", "0x030000", "i915"),
    ):
        (devices / name).mkdir(parents=True)
        if driver:
            (drivers / driver).mkdir(parents=True, exist_ok=True)
            (devices / name / "driver").symlink_to(drivers / driver)
        (devices / name / "vendor").write_text(f"{vendor}\n")
        (devices / name / "class").write_text(f"{kind}\n")
    assert pci_gpus(devices) == 2
    assert pci_gpus(tmp_path / "none") == 0


def kernel(log: Path, *messages: str) -> None:
    with log.open("a") as file:
        file.writelines(f"4,1234,5678901,-;{message}\n SUBSYSTEM=pci\n" for message in messages)


def xid(number: int, bus: str = "PCI:0000:3b:00", rest: str = "pid=12, name=python") -> str:
    return f"NVRM: Xid ({bus}): {number}, {rest}"


def test_a_fatal_xid_is_a_condition_until_the_driver_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    kernel(path, "Linux version 6.8", xid(79))
    log, told = KernelLog(path), Told()
    monitor = XidMonitor(log, told.tell)
    monitor.look()
    assert told.status == {XID: ("True", "FatalXIDErrors")}, "also one from before the agent started"
    kernel(path, xid(119, "0000:86:00"))
    monitor.look()
    assert told.now[XID].message == "Xid of 0000:3b:00: 79; 0000:86:00: 119"
    kernel(path, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05")
    monitor.look()
    assert told.status == {XID: ("False", "NoXIDErrors")}
    log.close()


def test_a_gpu_that_was_reset_is_healthy_again(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    action = "GPU recovery action changed from 0x{} to 0x{}"
    kernel(path, xid(48), xid(154, rest=action.format("0 (None)", "1 (GPU Reset Required)")), xid(95, "PCI:0000:86:00"))
    log, told = KernelLog(path), Told()
    monitor = XidMonitor(log, told.tell)
    monitor.look()
    kernel(path, xid(154, rest=action.format("1 (GPU Reset Required)", "0 (None)")))
    monitor.look()
    assert told.now[XID].message == "Xid of 0000:86:00: 95", "only the one that was reset"
    log.close()


def test_faults_of_programs_condemn_no_gpu(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    others = sorted(set(range(1, 150)) - FATAL)
    kernel(path, *(xid(number) for number in others), "NVRM: Xid (", "Xid 79", "\x00\xff")
    log, told = KernelLog(path), Told()
    XidMonitor(log, told.tell).look()
    assert told.status == {XID: ("False", "NoXIDErrors")}
    log.close()


def test_a_line_that_comes_in_two_pieces_is_one_line() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    log, told = KernelLog(Path(f"/dev/fd/{read}")), Told()
    monitor = XidMonitor(log, told.tell)
    os.write(write, b"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 7")
    monitor.look()
    assert told.status == {XID: ("False", "NoXIDErrors")}
    os.write(write, b"9, GPU has fallen off the bus.\n")
    monitor.look()
    assert told.status == {XID: ("True", "FatalXIDErrors")}
    log.close()
    os.close(read)
    os.close(write)
