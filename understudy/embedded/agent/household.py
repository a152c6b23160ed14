"""What all pods of a machine share: the cluster, the processes of nodes, and what there is to hand out."""

import time
from collections.abc import Callable, Mapping

import msgspec

from understudy.embedded.agent.addresses import Addresses
from understudy.embedded.agent.bodies import Bodies
from understudy.embedded.agent.credentials import Credentials
from understudy.embedded.agent.devices import Devices
from understudy.embedded.agent.events import Recorder
from understudy.embedded.agent.fencing import Sweeper
from understudy.embedded.agent.launching import Machine
from understudy.embedded.agent.pods import Quantity
from understudy.embedded.agent.remains import Remains
from understudy.embedded.agent.sources import Library
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.ports import Cluster


class NodeFacts(msgspec.Struct, frozen=True):
    """What pods are told of their node."""

    address: str
    allocatable: Mapping[str, Quantity]


class Household(msgspec.Struct, kw_only=True):
    folder: ClusterFolder
    cluster: Cluster
    bodies: Bodies
    machine: Machine
    devices: Devices
    addresses: Addresses
    library: Library
    recorder: Recorder
    nodes: Mapping[str, NodeFacts]
    sweeper: Sweeper
    remains: Remains
    credentials: Credentials
    authority: bytes = b""  # the certificate by which the API is known
    now: Callable[[], float] = time.time
    on_freed: Callable[[], None] = lambda: None  # devices came back; somebody may be waiting for them
