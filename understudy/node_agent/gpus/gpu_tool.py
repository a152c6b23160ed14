"""Runs the tool that knows the GPUs of this machine, with a limit: a driver in trouble lets it hang."""

import asyncio
import contextlib
import importlib.util
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from understudy.node_agent.gpus.gpu_report import QUERY_GPUS, QUERY_ROWS, GpuReport, ToolOutput, read_gpus, with_rows
from understudy.node_agent.gpus.nvml import MODULE

LIMIT = 20.0  # seconds
KILL_LIMIT = 2.0  # seconds until a killed process has ended
NVIDIA, DRIVER = "0x10de", "nvidia"
_DISPLAY = ("0x0300", "0x0302")  # PCI classes of GPUs, and not of their audio or bridge functions
PCI_DEVICES = Path("/sys/bus/pci/devices")


class ToolFails(Exception):
    """The tool gave no answer that says anything about GPUs."""


def find_tool(wanted: str = "auto") -> tuple[str, ...] | None:
    """The command to ask: `nvidia-smi`, else NVML; None: this machine has neither. `wanted` may name one of them."""
    if wanted in ("auto", "nvidia-smi") and (found := shutil.which("nvidia-smi")) is not None:
        return (found,)
    if wanted in ("auto", "nvml") and importlib.util.find_spec(MODULE) is not None:
        return (sys.executable, "-m", "understudy.node_agent.gpus.nvml")
    return None


def pci_gpus(devices: Path = PCI_DEVICES) -> int:
    """How many GPUs NVIDIA's driver has, whether they answer or not. Those of virtual machines have another driver."""
    try:
        return sum(map(_is_gpu, devices.iterdir()))
    except OSError:
        return 0


def _is_gpu(device: Path) -> bool:
    if _text(device / "vendor") != NVIDIA or not _text(device / "class").startswith(_DISPLAY):
        return False
    return (device / "driver").resolve().name == DRIVER


class GpuTool:
    def __init__(self, command: Sequence[str], limit: float = LIMIT) -> None:
        self._command = command
        self._name = Path(command[0]).name
        self._limit = limit
        self._hanging: asyncio.subprocess.Process | None = None

    async def ask(self) -> GpuReport:
        """Raises ToolFails."""
        try:
            report = read_gpus(await self._output(QUERY_GPUS))
        except ValueError as error:
            raise ToolFails(f"{self._name}: {error}") from None
        return with_rows(report, await self._output(QUERY_ROWS)) if report.present else report

    async def _output(self, query: Sequence[str]) -> ToolOutput:
        if self._hanging is not None and self._hanging.returncode is None:
            raise ToolFails(f"{self._name} hangs and cannot be killed")
        process = await self._started(query)
        try:
            async with asyncio.timeout(self._limit):
                out, err = await process.communicate()
        except TimeoutError:
            raise ToolFails(f"{self._name} gives no answer within {self._limit:g} s") from None
        finally:
            await self._end(process)
        return ToolOutput(process.returncode or 0, (out + b"\n" + err).decode("utf-8", "replace"))

    async def _started(self, query: Sequence[str]) -> asyncio.subprocess.Process:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            return await asyncio.create_subprocess_exec(*self._command, *query, stdin=nothing, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise ToolFails(f"{self._name}: {error.strerror or error}") from None

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """A process that hangs in the driver is reached by no signal; no other is started until it has ended."""
        if process.returncode is not None:
            return
        self._hanging = process
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            process.kill()
            async with asyncio.timeout(KILL_LIMIT):
                await process.wait()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
