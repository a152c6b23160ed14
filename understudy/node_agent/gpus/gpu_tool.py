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
NVIDIA = "0x10de"
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
    """How many NVIDIA GPUs are plugged in, whether they answer or not."""
    count = 0
    with contextlib.suppress(OSError):
        for device in devices.iterdir():
            count += _text(device / "vendor") == NVIDIA and _text(device / "class").startswith(_DISPLAY)
    return count


async def ask_gpus(tool: Sequence[str], limit: float = LIMIT) -> GpuReport:
    """Raises ToolFails."""
    try:
        report = read_gpus(await _output(tool, QUERY_GPUS, limit))
    except ValueError as error:
        raise ToolFails(f"{Path(tool[0]).name}: {error}") from None
    return with_rows(report, await _output(tool, QUERY_ROWS, limit)) if report.present else report


async def _output(tool: Sequence[str], query: Sequence[str], limit: float) -> ToolOutput:
    name, pipe = Path(tool[0]).name, asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *tool, *query, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
    except OSError as error:
        raise ToolFails(f"{name}: {error.strerror or error}") from None
    try:
        async with asyncio.timeout(limit):
            out, err = await process.communicate()
    except TimeoutError:
        raise ToolFails(f"{name} gives no answer within {limit:g} s") from None
    finally:
        if process.returncode is None:  # it may hang in the driver, where no signal reaches it: it is not waited for
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    return ToolOutput(process.returncode or 0, (out + b"\n" + err).decode("utf-8", "replace"))


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
