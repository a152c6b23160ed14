"""Prints what `nvidia-smi` would print, from NVML by NVIDIA's Python binding. It is a process of its own, since NVML
can hang."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

from understudy.node_agent.gpus.gpu_report import GPU_LOST, QUERY_GPUS, QUERY_ROWS

MODULE = "pynvml"  # of the package nvidia-ml-py
NO_VALUE = "[N/A]"


def main(arguments: list[str]) -> int:
    nvml: Any = importlib.import_module(MODULE)
    value = {QUERY_GPUS[0]: _uncorrectable, QUERY_ROWS[0]: _unmapped}[arguments[0]]
    try:
        nvml.nvmlInit()
        lost = 0
        for bus, handle in _gpus(nvml):
            lost += handle is None
            if handle is None:
                print(f"Unable to determine the device handle for GPU{bus}: GPU is lost", file=sys.stderr)
            else:
                print(f"{bus}, {value(nvml, handle)}")
    except nvml.NVMLError as error:
        print(f"NVML: {error}", file=sys.stderr)
        return int(error.value)
    return GPU_LOST if lost else 0


def _gpus(nvml: Any) -> Iterator[tuple[str, Any]]:
    """Bus ids and handles; a GPU that is lost has neither, and is called by its index."""
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            bus = nvml.nvmlDeviceGetPciInfo(handle).busId
        except nvml.NVMLError_GpuIsLost:
            yield f" {index}", None
        else:
            yield bus.decode() if isinstance(bus, bytes) else bus, handle


def _uncorrectable(nvml: Any, handle: Any) -> str:
    try:
        kind, since = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        return str(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))
    except nvml.NVMLError_NotSupported:
        return NO_VALUE


def _unmapped(nvml: Any, handle: Any) -> str:
    try:
        *_, failed = nvml.nvmlDeviceGetRemappedRows(handle)
    except nvml.NVMLError_NotSupported:
        return NO_VALUE
    return "Yes" if failed else "No"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
