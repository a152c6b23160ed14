"""The environment variables that each framework expects on its nodes: the first node, the count, the node's number.

The names and values are those of Kubeflow Trainer; to add a framework, write a function and name it in `FRAMEWORKS`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.pod_labels import COMPLETION_INDEX
from understudy.model.quantity import parse_quantity

PORT = 29500


class TrainerNodes(msgspec.Struct, frozen=True):
    """The nodes of a TrainJob, as their environment variables describe them."""

    leader: str  # the name by which all of them reach the first
    nodes: int
    processes: int | str | None  # on each node, if the job says so
    resources: Document  # of each node

    @property
    def accelerators(self) -> int:
        return self._amount("gpu")

    @property
    def processors(self) -> int:
        return -(-self._amount("cpu") // 1000)

    def _amount(self, word: str) -> int:
        """What a node asks for, else its limit, of the first resource whose name has this word in it."""
        for amounts in (self.resources.get("requests") or {}, self.resources.get("limits") or {}):
            for name, amount in amounts.items():
                if word in name.lower() and (counted := parse_quantity(amount, name)):
                    return counted
        return 0


def torch(nodes_info: TrainerNodes) -> dict[str, Any]:
    processes = nodes_info.processes
    if processes in (None, "auto"):
        processes = "auto" if nodes_info.accelerators else max(1, nodes_info.processors)
    return {
        "PET_NNODES": str(nodes_info.nodes),
        "PET_NPROC_PER_NODE": str(processes),
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": nodes_info.leader,
        "PET_MASTER_PORT": str(PORT),
    }


def jax(nodes_info: TrainerNodes) -> dict[str, Any]:
    return {
        "JAX_NUM_PROCESSES": str(nodes_info.nodes),
        "JAX_PROCESS_ID": None,
        "JAX_COORDINATOR_ADDRESS": f"{nodes_info.leader}:{PORT}",
    }


def xgboost(nodes_info: TrainerNodes) -> dict[str, Any]:
    return {
        "DMLC_TRACKER_URI": nodes_info.leader,
        "DMLC_TRACKER_PORT": str(PORT),
        "DMLC_TASK_ID": None,
        "DMLC_NUM_WORKER": str(nodes_info.nodes * max(1, nodes_info.accelerators)),
    }


# By the field of `mlPolicy`. A value of None means the number of the node.
FRAMEWORKS: Mapping[str, Callable[[TrainerNodes], dict[str, Any]]] = {"torch": torch, "jax": jax, "xgboost": xgboost}
UNSUPPORTED = ("mpi", "flux")


def environment(framework: str, nodes_info: TrainerNodes) -> list[Document]:
    number = {"fieldRef": {"fieldPath": f"metadata.annotations['{COMPLETION_INDEX}']"}}
    variables = FRAMEWORKS[framework](nodes_info)
    return [
        {"name": name, "valueFrom": number} if value is None else {"name": name, "value": value}
        for name, value in variables.items()
    ]
