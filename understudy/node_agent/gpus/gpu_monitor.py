"""Looks at the GPUs of this machine again and again: the tool every half minute, the kernel's log every second."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from understudy.node_agent.gpus.gpu_conditions import (
    GpuCondition,
    missing_condition,
    unhealthy_condition,
    unknown_conditions,
    xid_condition,
)
from understudy.node_agent.gpus.gpu_tool import GpuTool, ToolFails
from understudy.node_agent.gpus.xid_log import FATAL, KernelLog, XidErrors

TOOL_INTERVAL, LOG_INTERVAL = 30.0, 1.0  # seconds
FAILURES = 3  # of the tool in a row, after which its last answer no longer counts

Tell = Callable[[Sequence[GpuCondition]], None]

_log = logging.getLogger(__name__)


class GpuMonitor:
    """`expected` is how many GPUs the machine has. More that answer once are expected from then on."""

    def __init__(self, tool: GpuTool, tell: Tell, expected: int = 0) -> None:
        self._tool = tool
        self._tell = tell
        self._expected = expected
        self._failures = 0
        self._complaint = ""

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(TOOL_INTERVAL)

    async def look(self) -> None:
        try:
            report = await self._tool.ask()
        except ToolFails as problem:
            self._failed(str(problem))
            return
        self._failures, self._complaint = 0, ""
        self._expected = max(self._expected, len(report.present))
        self._tell((missing_condition(report, self._expected), unhealthy_condition(report)))

    def _failed(self, problem: str) -> None:
        self._failures += 1
        if problem != self._complaint:
            _log.warning("GPUs: %s", problem)
            self._complaint = problem
        if self._failures >= FAILURES:
            self._tell(unknown_conditions(problem))


class XidMonitor:
    def __init__(self, log: KernelLog, tell: Tell, fatal: frozenset[int] = FATAL) -> None:
        self._log = log
        self._tell = tell
        self._errors = XidErrors(fatal)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOG_INTERVAL)

    def look(self) -> None:
        for line in self._log.lines():
            self._errors.read(line)
        self._tell((xid_condition(self._errors.in_force()),))
