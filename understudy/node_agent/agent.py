"""The agent of one node: its pollers, its GPU monitor, and the writers of what they find. Nothing else is written."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from understudy.node_agent.gpus.condition_writer import ConditionWriter
from understudy.node_agent.gpus.gpu_monitor import GpuMonitor, XidMonitor
from understudy.node_agent.gpus.gpu_tool import GpuTool, find_tool, pci_gpus
from understudy.node_agent.gpus.xid_log import FATAL, KERNEL_LOG, KernelLog
from understudy.node_agent.node_api import NodeApi
from understudy.node_agent.notices import sources
from understudy.node_agent.notices.gcp import SPOT_NOTICE
from understudy.node_agent.notices.notice_writer import NoticeWriter
from understudy.node_agent.notices.source_watch import OwnNotice, SourceWatch, WatchedNodes
from understudy.objects.resources import NODES
from understudy.ports import Ref, Refused, Unreachable

Part = Coroutine[Any, Any, None]

PAUSE = 2.0  # seconds between attempts to read the Node
FIRST_LOOK, LAST_LOOK = 5.0, 600.0  # seconds until a Node without a provider ID is read again

_log = logging.getLogger(__name__)


class NoSuchNode(Exception):
    """The cluster has no node of this name."""


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    cloud: str = "auto"  # azure, aws, gcp; auto: by the node's provider ID; none
    endpoint: str = ""  # of a metadata server other than the cloud's own
    ignored: frozenset[str] = frozenset(sources.IGNORED)
    spot_notice: float = SPOT_NOTICE  # seconds, where the cloud names no deadline
    gpus: str = "auto"  # nvidia-smi, nvml; auto: the first that is there; none
    kernel_log: Path = KERNEL_LOG
    fatal_xids: frozenset[int] = FATAL


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    provider_id: str = msgspec.field(name="providerID", default="")


class _Node(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class NodeAgent:
    def __init__(self, cluster: NodeApi, options: AgentOptions) -> None:
        self.ready = False  # whether the node was read, and all parts run
        self._cluster = cluster
        self._options = options

    async def run(self, stopped: asyncio.Event) -> None:
        """Runs until `stopped` is set. Raises NoSuchNode, or Refused if the node may not be read."""
        provider_id = await self._first_provider_id(stopped)
        if provider_id is None:
            return
        async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            parts = [self._follow_notices(provider_id), *self._gpu_parts(stack)]
            tasks = [group.create_task(part) for part in parts]
            self.ready = True
            await stopped.wait()
            for task in tasks:
                task.cancel()

    async def _first_provider_id(self, stopped: asyncio.Event) -> str | None:
        """None: stopped before the API answered."""
        while not stopped.is_set():
            try:
                return await self._provider_id()
            except Refused as error:
                if error.code == HTTPStatus.NOT_FOUND:
                    raise NoSuchNode(f"the cluster has no node {self._options.node!r}") from None
                raise
            except Unreachable as error:
                _log.warning("node %s cannot be read yet: %s", self._options.node, error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await stopped.wait()
        return None

    async def _provider_id(self) -> str:
        node = msgspec.json.decode(await self._cluster.get(Ref(NODES, name=self._options.node)), type=_Node)
        return node.spec.provider_id

    async def _follow_notices(self, provider_id: str) -> None:
        options, pause = self._options, FIRST_LOOK
        while options.cloud == "auto" and not provider_id:  # a Node gets its provider ID a while after it was made
            await asyncio.sleep(pause)
            pause = min(pause * 2, LAST_LOOK)
            with contextlib.suppress(Refused, Unreachable):
                provider_id = await self._provider_id()
        cloud = sources.cloud_of(provider_id) if options.cloud == "auto" else options.cloud
        if cloud not in sources.CLOUDS:
            why = f"by its provider ID {provider_id!r}" if options.cloud == "auto" else "as asked"
            _log.info("node %s: no cloud whose notices are known, %s", options.node, why)
            return
        writer = NoticeWriter(self._cluster, options.node, cloud)

        def tell(_node: str, own: OwnNotice | None) -> None:
            writer.tell(own)

        names = {options.node: sources.names_of_machine(options.node, provider_id)}
        watched = WatchedNodes(names, tell, options.ignored)
        watch = SourceWatch(sources.source_named(cloud, options.spot_notice), watched, options.endpoint)
        _log.info("node %s: notices of %s are followed", options.node, cloud)
        async with asyncio.TaskGroup() as group:
            group.create_task(watch.run())
            group.create_task(writer.run())

    def _gpu_parts(self, stack: contextlib.AsyncExitStack) -> list[Part]:
        options = self._options
        tool = find_tool(options.gpus)
        if tool is None:
            _log.info("node %s: GPUs are not looked at: %s", options.node, _why_no_tool(options.gpus))
            return []
        writer = ConditionWriter(self._cluster, options.node)
        parts: list[Part] = [writer.run(), GpuMonitor(GpuTool(tool), writer.tell, pci_gpus()).run()]
        try:
            log = KernelLog(options.kernel_log)
        except OSError as error:
            _log.info("Xid errors are not looked for: %s: %s", options.kernel_log, (error.strerror or "").lower())
            return parts
        stack.callback(log.close)
        return [*parts, XidMonitor(log, writer.tell, options.fatal_xids).run()]


def _why_no_tool(wanted: str) -> str:
    return {
        "none": "as asked",
        "nvidia-smi": "nvidia-smi is not there",
        "nvml": "nvidia-ml-py is not installed; install understudy[nvml]",
    }.get(wanted, "neither nvidia-smi nor nvidia-ml-py is there")
