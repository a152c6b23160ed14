"""Makes virtual nodes fail and recover: requests to their agent, and conditions written on the Node."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from understudy.cli.clusters.selection import local_cluster_at
from understudy.cli.errors import BadInput
from understudy.cli.queries.names import check_node_name
from understudy.client import KubeClient
from understudy.client.config import Config
from understudy.embedded.agent_protocol import Failure
from understudy.objects.resources import NODES
from understudy.ports import Ref, Refused

AGENT_FAILURES: dict[str, Failure] = {
    "kill": "kill",
    "freeze": "freeze",
    "unplug": "unplug",
    "vanish": "kill",
}  # what the agent is asked for
REASON = "Rehearsal"  # by which conditions of ours are known again
GPU = "GPUUnhealthy"
UNREACHABLE = "node.kubernetes.io/unreachable"

Document = dict[str, Any]


def agent_socket_of(config: Config, names: Sequence[str]) -> Path:
    """The socket of the agent that runs these nodes. Only nodes of an embedded cluster of this machine are made to
    fail."""
    cluster = local_cluster_at(config)
    if cluster is None:
        raise BadInput(
            f"{config.server} is no embedded cluster of this machine, and only nodes of these are made to fail;"
            " elsewhere, `understudy node drain` takes a node out of service"
        )
    known = [node["metadata"]["name"] for node in cluster.settings.nodes]
    for name in names:
        check_node_name(name, known, "NODE")
    return cluster.folder.agent_socket


def fault_condition(how: str) -> Document | None:
    """The condition that reports the fault on the node; None for a fault in which the node can report nothing."""
    match how:
        case "notready":
            return _condition("Ready", "False", "the agent was asked to say that it is not well")
        case "gpu":
            return _condition(GPU, "True", "an accelerator was asked to be broken")
        case _:
            return None


def recovery_conditions(node: Document) -> list[Document]:
    """The conditions that take back every fault that `node fail` wrote on the node."""
    found = []
    for condition in node.get("status", {}).get("conditions") or ():
        if condition.get("reason") != REASON:
            continue
        if condition["type"] == "Ready" and condition["status"] == "False":
            found.append(_condition("Ready", "True", "the agent is running", "KubeletReady"))
        elif condition["type"] == GPU and condition["status"] == "True":
            found.append(_condition(GPU, "False", "all accelerators work", "NoGPUProblem"))
    return found


def _condition(kind: str, status: str, message: str, reason: str = REASON) -> Document:
    now = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


async def write_conditions(client: KubeClient, name: str, conditions: list[Document]) -> None:
    await client.patch(Ref(NODES, name=name), {"status": {"conditions": conditions}}, sub="status")


async def delete_node(client: KubeClient, name: str) -> None:
    try:
        await client.delete(Ref(NODES, name=name))
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise


def is_recovered(node: Document) -> bool:
    """Ready, by no sickness of ours, and not marked as unreachable."""
    conditions = node.get("status", {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    marked = any(taint["key"] == UNREACHABLE for taint in node.get("spec", {}).get("taints") or ())
    return ready and not marked and not recovery_conditions(node)
