"""What nvidia-smi printed into how the GPUs of a machine are."""

import re
from collections.abc import Iterator

import msgspec

# What is asked, and the form of the answer. `understudy.node_agent.gpus.nvml` prints the same.
QUERY_GPUS = ("--query-gpu=pci.bus_id,ecc.errors.uncorrected.volatile.total", "--format=csv,noheader,nounits")
QUERY_ROWS = ("--query-remapped-rows=gpu_bus_id,remapped_rows.failure", "--format=csv,noheader,nounits")
NO_GPU = 6  # exit code: no device was found
GPU_LOST = 15  # exit code: a device does not answer on the bus any more
_BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")
_LOST = re.compile(r"device handle for (?:the )?GPU ?(?P<bus>[0-9A-Fa-f:.]*[0-9A-Fa-f])|GPU is lost|fallen off the bus")


class ToolOutput(msgspec.Struct, frozen=True):
    code: int
    text: str  # stdout, then stderr


class GpuReport(msgspec.Struct, frozen=True):
    present: tuple[str, ...] = ()  # bus ids of the GPUs that answer
    lost: tuple[str, ...] = ()  # those that do not answer, as far as they are named
    uncorrectable: tuple[tuple[str, int], ...] = ()  # ECC errors that could not be corrected, since the last reset
    unmapped: tuple[str, ...] = ()  # GPUs that could not remap a broken row of their memory


def read_gpus(output: ToolOutput) -> GpuReport:
    """Raises ValueError where the output says nothing about GPUs."""
    matches = (_LOST.search(line) for line in output.text.splitlines())
    lost = tuple(sorted({found["bus"] or "unnamed" for found in matches if found is not None}))
    rows = list(_rows(output.text))
    if not rows and not lost and output.code != NO_GPU:
        raise ValueError(f"exit code {output.code}, and no GPU in the output: {output.text.strip()[:200]!r}")
    if output.code == GPU_LOST and not lost:
        lost = ("unnamed",)
    errors = tuple((bus, int(value)) for bus, value in rows if value.isdecimal() and int(value))
    return GpuReport(tuple(bus for bus, _ in rows), lost, errors)


def with_rows(report: GpuReport, output: ToolOutput) -> GpuReport:
    """GPUs and drivers without row remapping print [N/A], or refuse the question: that is no failure."""
    failed = tuple(bus for bus, value in _rows(output.text) if value.lower() == "yes" or value == "1")
    return msgspec.structs.replace(report, unmapped=failed)


def _rows(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        bus, comma, value = line.partition(",")
        if comma and _BUS_ID.fullmatch(bus.strip()):
            yield bus.strip(), value.strip()
