"""Puts the parts of the agent together, follows nodes, pods and services, and ends when it is asked to."""

import asyncio
import contextlib
import gc
import logging
import os
import resource as limits
import signal
import time
from collections.abc import Callable, Iterable

import msgspec

from understudy.control.record.event_formats import EventSubject, EventText
from understudy.embedded.agent.agent_socket import AgentSocket
from understudy.embedded.agent.api.event_queue import AgentEvent, AgentEventQueue
from understudy.embedded.agent.containers.machine import machine_for
from understudy.embedded.agent.containers.runtimes import PROCESS
from understudy.embedded.agent.network.pod_dns import NamedService, PodNames
from understudy.embedded.agent.nodes.disk_pressure import DiskPressureMonitor, free_bytes
from understudy.embedded.agent.nodes.node_notices import notice_parts
from understudy.embedded.agent.nodes.node_processes import EAGER_NODES, NodeProcesses
from understudy.embedded.agent.nodes.node_registration import NodeRegistry
from understudy.embedded.agent.pods.dependencies import AgentApi, PodDependencies, pod_dependencies
from understudy.embedded.agent.pods.pod_manager import PodManager
from understudy.embedded.agent.processes.fork_server_client import ForkServerClient
from understudy.embedded.agent.python.pod_python import PodPythons
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.shim import node_pid_files
from understudy.objects.resources import NODES, PODS, SERVICES, Resource
from understudy.ports import Change, ChangeType, Refused

IMAGES_NOT_PULLED = (
    "Images are not pulled: containers run as processes of this machine, with its programs and files. "
    "`understudy up --runtime docker` or `--runtime podman` runs them in containers."
)
_PAUSE = 1.0

log = logging.getLogger(__name__)


class Agent:
    """`delay` are the seconds by which events and the removal of pod folders are delayed."""

    def __init__(self, folder: ClusterFolder, api: AgentApi, delay: float = 0.0) -> None:
        self._folder = folder
        self._api = api
        self._cluster = api.cluster
        self._delay = delay

    async def run(self, stopped: asyncio.Event) -> None:
        """Runs until `stopped` is set. The pods keep running afterwards."""
        settings = self._folder.read_settings()
        self._folder.pods.mkdir(mode=0o700, parents=True, exist_ok=True)
        hanging = node_pid_files.kill_all_nodes(self._folder.nodes)  # of an agent that was killed: its orders are void
        fork_server = ForkServerClient(self._folder.path / "fork-server")
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(fork_server.close)
            machine = await machine_for(self._folder, settings, await fork_server.start(), self._api.server)
            stack.callback(machine.close)
            node_processes = NodeProcesses(fork_server, self._folder.nodes, len(settings.nodes))
            stack.callback(node_processes.close)
            deps = pod_dependencies(self._folder, self._api, node_processes, machine, self._delay)
            if settings.runtime == PROCESS:  # the images of others bring a Python of their own
                path = os.environ.get("PATH") or os.defpath
                deps.pythons = PodPythons(self._folder.python, self._cluster, settings.python_env, path)
                stack.push_async_callback(deps.pythons.close)
            stack.push_async_callback(deps.recorder.close)
            stack.push_async_callback(deps.cleanup.close)
            deps.recorder.start()
            registry = NodeRegistry(self._cluster, settings.nodes, self._folder.path)
            stack.callback(registry.close)
            for name in hanging & registry.names:
                registry.fail(name)  # a hanging node still hangs after a restart of the agent
            pod_manager = PodManager(deps, registry)
            stack.push_async_callback(pod_manager.close)
            agent_socket = AgentSocket(self._folder.agent_socket, pod_manager)
            stack.push_async_callback(agent_socket.close)
            await agent_socket.open()
            if len(registry.names) <= EAGER_NODES:
                for name in registry.names - registry.failed:
                    node_processes.begin(name)
            _record_images_not_pulled(deps.recorder, settings)
            await self._work(registry, pod_manager, deps, stopped)

    async def _work(
        self, registry: NodeRegistry, pod_manager: PodManager, deps: PodDependencies, stopped: asyncio.Event
    ) -> None:
        names = deps.machine.directory
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(deps.token_manager.run()),
                group.create_task(_register(registry)),
                group.create_task(self._watch_disk(registry.names)),
                group.create_task(_rewrite_hosts_files(names)),
                *([group.create_task(deps.pythons.run())] if deps.pythons is not None else []),
                *(group.create_task(part) for part in notice_parts(self._cluster, registry.documents)),
                group.create_task(self._follow(NODES, registry.changed)),
                group.create_task(self._follow(PODS, pod_manager.changed)),
                group.create_task(self._follow(SERVICES, lambda change: _service_changed(change, names))),
            ]
            await stopped.wait()
            for task in tasks:
                task.cancel()

    async def _watch_disk(self, names: Iterable[str]) -> None:
        await DiskPressureMonitor(self._cluster, names, lambda: free_bytes(self._folder.path), time.time).run()

    async def _follow(self, resource: Resource, handle: Callable[[Change], None]) -> None:
        while True:
            try:
                async for change in self._cluster.follow(resource):
                    _handle(change, handle)
            except Refused as refusal:
                log.warning("%s cannot be followed: %s", resource.plural, refusal)
            await asyncio.sleep(_PAUSE)


def _handle(change: Change, handle: Callable[[Change], None]) -> None:
    """An error about one object must not stop the agent from handling the others."""
    try:
        handle(change)
    except Exception:
        log.exception("%s %.200s", change.type, change.raw)


async def _rewrite_hosts_files(names: PodNames) -> None:
    """Writes the names that could not be written while the disk was full."""
    while True:
        await asyncio.sleep(_PAUSE)
        names.restore()


async def _register(registry: NodeRegistry) -> None:
    await registry.register_all()
    gc.freeze()
    await registry.renew_forever()


class _ServiceMetadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = "default"


class _ServiceSpec(msgspec.Struct, frozen=True):
    selector: dict[str, str] | None = None


class _Service(msgspec.Struct, frozen=True):
    metadata: _ServiceMetadata
    spec: _ServiceSpec = _ServiceSpec()


def _service_changed(change: Change, names: PodNames) -> None:
    if change.type is ChangeType.SYNCED:
        return
    service = msgspec.json.decode(change.raw, type=_Service)
    meta = service.metadata
    if change.type is ChangeType.DELETED:
        names.remove_service(meta.namespace, meta.name)
    else:
        names.add_service(NamedService(meta.namespace, meta.name, service.spec.selector or {}))


def _record_images_not_pulled(recorder: AgentEventQueue, settings: ClusterSettings) -> None:
    """Records the event once in the life of a cluster: it always has the same name."""
    if settings.runtime != PROCESS or not settings.nodes:
        return
    log.info(IMAGES_NOT_PULLED)
    name = settings.nodes[0]["metadata"]["name"]
    subject = EventSubject(NODES.api_version, NODES.kind, "", name, uid=name)
    text = EventText("ImagesNotPulled", IMAGES_NOT_PULLED)
    recorder.record(AgentEvent(subject, text, node=name, name="images-are-not-pulled"))


def raise_file_limit() -> None:
    """Raises the limit of open files: every container costs the agent a descriptor."""
    _, hard = limits.getrlimit(limits.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        limits.setrlimit(limits.RLIMIT_NOFILE, (hard, hard))


def stop_on_signals(stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
