"""Nodes as kubectl prints them."""

from understudy.embedded.api.tables.human_duration import UNKNOWN, age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    ConditionFields,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    wide,
)
from understudy.embedded.schema.served_resource import Column

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


class AddressFields(PrintedFields, frozen=True):
    type: str = ""
    address: str = ""


class InfoFields(PrintedFields, frozen=True):
    kubelet_version: str = ""
    os_image: str = ""
    kernel_version: str = ""
    container_runtime_version: str = ""


class NodeSpecFields(PrintedFields, frozen=True):
    unschedulable: bool = False


class NodeStatusFields(PrintedFields, frozen=True):
    conditions: tuple[ConditionFields, ...] = ()
    addresses: tuple[AddressFields, ...] = ()
    node_info: InfoFields = InfoFields()


class NodeFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: NodeSpecFields = NodeSpecFields()
    status: NodeStatusFields = NodeStatusFields()


_COLUMNS = (
    NAME,
    Column("Status", description="Whether the node is ready, and whether it takes new pods."),
    Column("Roles", description="Roles of the node, from its labels."),
    AGE,
    Column("Version", description="Version of what runs the node's pods."),
    wide("Internal-IP", "Address inside the cluster."),
    wide("External-IP", "Address outside the cluster."),
    wide("OS-Image", "Operating system."),
    wide("Kernel-Version", "Kernel."),
    wide("Container-Runtime", "What containers run in."),
)


def _row(node: NodeFields, now: float) -> Row:
    info = node.status.node_info
    return Row(
        [
            node.metadata.name,
            _status(node),
            ",".join(_roles(node.metadata.labels)) or NONE,
            age(node.metadata.creation_timestamp, now),
            info.kubelet_version,
            _address(node, "InternalIP"),
            _address(node, "ExternalIP"),
            info.os_image or UNKNOWN,
            info.kernel_version or UNKNOWN,
            info.container_runtime_version or UNKNOWN,
        ]
    )


def _status(node: NodeFields) -> str:
    ready = next((condition.status for condition in node.status.conditions if condition.type == "Ready"), "")
    words = ["Unknown" if not ready else "Ready" if ready == "True" else "NotReady"]
    return ",".join([*words, "SchedulingDisabled"] if node.spec.unschedulable else words)


def _roles(labels: dict[str, str]) -> list[str]:
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((named | {labels.get(_ROLE_LABEL, "")}) - {""})


def _address(node: NodeFields, kind: str) -> str:
    return next((one.address for one in node.status.addresses if one.type == kind), NONE)


NODES = Printer(_COLUMNS, NodeFields, _row)
