"""What all pods of a machine depend on: the cluster, node processes, devices, addresses, tokens, events."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from understudy.embedded.agent.api.config_objects import ConfigReader
from understudy.embedded.agent.api.event_queue import AgentEventQueue
from understudy.embedded.agent.api.pod_types import Quantity
from understudy.embedded.agent.containers.device_manager import DeviceManager
from understudy.embedded.agent.containers.machine import Machine
from understudy.embedded.agent.containers.runtimes import PROCESS
from understudy.embedded.agent.network.address_pool import DEFAULT_NETWORK, AddressPool
from understudy.embedded.agent.nodes import node_status
from understudy.embedded.agent.nodes.node_processes import NodeProcesses
from understudy.embedded.agent.pods import pod_records
from understudy.embedded.agent.pods.ended_pods import EndedPods
from understudy.embedded.agent.pods.pod_records import PodCleanup
from understudy.embedded.agent.processes.fencing import ProcessSweeper
from understudy.embedded.agent.python.pod_python import PodPythons
from understudy.embedded.agent.volumes.service_account_token import TokenManager, TokenSource
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.ended_pods import EndedPodLimits
from understudy.ports import Cluster


class AgentApi(NamedTuple):
    """The API of the cluster, for the agent and for pods."""

    cluster: Cluster
    server: str  # its address as pods see it
    tokens: TokenSource  # issues the service account tokens of pods


class NodeFacts(msgspec.Struct, frozen=True):
    """What the downward API and the status of a pod say about its node."""

    address: str
    allocatable: Mapping[str, Quantity]


class PodDependencies(msgspec.Struct, kw_only=True):
    folder: ClusterFolder
    cluster: Cluster
    node_processes: NodeProcesses
    machine: Machine
    devices: DeviceManager
    addresses: AddressPool
    config_reader: ConfigReader
    recorder: AgentEventQueue
    nodes: Mapping[str, NodeFacts]
    sweeper: ProcessSweeper
    cleanup: PodCleanup
    ended: EndedPods
    token_manager: TokenManager
    pythons: PodPythons | None = None  # None where containers do not run as processes, or there is no Python
    authority: bytes = b""  # the certificate of the authority that signed the API's certificate
    now: Callable[[], float] = time.time
    on_freed: Callable[[], None] = lambda: None  # called when devices are free again, for pods that wait for them

    @property
    def container_runtime(self) -> str:
        """docker, podman, or `process` where containers are processes of this machine."""
        return self.machine.tool.name if self.machine.tool is not None else PROCESS


def _authority(folder: ClusterFolder) -> bytes:
    return folder.authority.read_bytes() if folder.authority.exists() else b""


def pod_dependencies(
    folder: ClusterFolder, api: AgentApi, node_processes: NodeProcesses, machine: Machine, delay: float
) -> PodDependencies:
    """`delay` are the seconds by which events and the removal of pod folders are delayed.

    Restores from the records of pods which addresses and devices earlier agents have given out."""
    settings = folder.read_settings()
    ended = EndedPods(folder, msgspec.convert(settings.loop.get("logs", {}), EndedPodLimits))
    deps = PodDependencies(
        folder=folder,
        cluster=api.cluster,
        node_processes=node_processes,
        machine=machine,
        devices=DeviceManager(settings.nodes),
        addresses=AddressPool(settings.pod_network or DEFAULT_NETWORK),
        config_reader=ConfigReader(api.cluster),
        recorder=AgentEventQueue(api.cluster, delay),
        nodes={
            node["metadata"]["name"]: NodeFacts(node_status.internal_address(node), node["status"]["capacity"])
            for node in settings.nodes
        },
        sweeper=ProcessSweeper(),
        cleanup=PodCleanup(folder, ended, delay),
        ended=ended,
        token_manager=TokenManager(api.tokens, time.time),
        authority=_authority(folder),
    )
    for uid, pod in pod_records.found_pod_folders(folder.pods):
        record = pod_records.load_record(pod)
        if record is not None:
            deps.addresses.restore(uid, record.address)
            deps.devices.restore(uid, record.shares)
    return deps
