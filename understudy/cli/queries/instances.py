"""One pod of a job for tables: its state, its node, since when, and its rank among the others."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from understudy.cli.output.tables import NONE
from understudy.cli.queries.container_states import detail_of, ends_of, last_end, trouble_of, word_of
from understudy.cli.queries.objects import ContainerInfo, NodeState, PodInfo
from understudy.kinds.pod_labels import (
    JOB_ROLE,
    MPI_ROLE,
    REPLICA_TYPE,
    REPLICATED_JOB,
    place_of,
)
from understudy.kinds.registry import KINDS
from understudy.kinds.roles import accelerators, amounts_of
from understudy.objects.meta import seconds

_NUMBERS = re.compile(r"(\d+)")


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    status: str  # the pod's phase; PENDING where a container of a running pod is down
    detail: str = ""  # as kubectl would say it: ContainerCreating, Completed, Terminating ...
    waits: str = ""  # why it has no seat
    trouble: str = ""  # what its containers say where they keep it from running
    scheduler: str = ""  # its schedulerName
    node: str = ""
    address: str = ""  # of its node
    ip: str = ""
    role: str = ""
    leads: bool = False  # its labels say that it is the first of all
    place: str = ""  # what pods that take each other's place have in common
    created: float = 0.0
    started: float | None = None
    ended: float | None = None
    requests: Mapping[str, int] = {}
    restarts: int = 0
    exit_code: int | None = None
    containers: tuple[str, ...] = ()
    init_containers: tuple[str, ...] = ()
    leaving: bool = False
    container_states: tuple[ContainerInfo, ...] = ()
    init_states: tuple[ContainerInfo, ...] = ()
    node_state: NodeState | None = None  # only `with_nodes` asks for it

    @property
    def shown_status(self) -> str:
        """As Arena and kubectl say it of a pod whose containers are in trouble."""
        return self.detail if self.trouble else self.status

    @property
    def gpus(self) -> int:
        return accelerators(self.requests)

    @property
    def seated(self) -> bool:
        return bool(self.node) and self.status in ("PENDING", "RUNNING")

    @property
    def shown_node(self) -> str:
        """The address where the node is named after it, as clusters of machines name theirs; else the name, which says
        more than an address that many nodes of one machine may share."""
        if self.address and self.node.endswith(self.address):
            return self.address
        return self.node or NONE


class EndedAttempt(msgspec.Struct, frozen=True):
    """An instance whose pod is gone; `number` counts the pods that had this place, from 1."""

    number: int
    instance: Instance


def instance_of(pod: PodInfo, kind: str) -> Instance:
    meta, status, labels = pod.metadata, pod.status, pod.metadata.labels
    ended = list(ends_of(pod))
    role = labels.get(REPLICA_TYPE) or labels.get(JOB_ROLE) or labels.get(MPI_ROLE) or labels.get(REPLICATED_JOB, "")
    last, place = last_end(pod), place_of(meta)
    return Instance(
        name=meta.name,
        uid=meta.uid,
        status=word_of(pod),
        detail=detail_of(pod),
        waits=_waits(pod),
        trouble=trouble_of(pod),
        scheduler=pod.spec.scheduler_name,
        node=pod.spec.node_name,
        address=status.host_ip,
        ip=status.pod_ip,
        role=role.lower(),
        leads=KINDS[kind].leads(labels, role.lower(), place),
        place=place,
        created=seconds(meta.creation_timestamp) or 0.0,
        started=seconds(status.start_time),
        ended=max(ended) if pod.finished and ended else None,
        requests=amounts_of(pod.spec),
        restarts=sum(container.restart_count for container in status.container_statuses),
        exit_code=last.exit_code if last else None,
        containers=tuple(container.name for container in pod.spec.containers),
        init_containers=tuple(container.name for container in pod.spec.init_containers),
        leaving=meta.deletion_timestamp is not None,
        container_states=status.container_statuses,
        init_states=status.init_container_statuses,
    )


def instance_order(instance: Instance, order: Sequence[str]) -> tuple[object, ...]:
    """A sort key: leaders first, then by role as the job writes them, then by name with its numbers as numbers; of
    pods that took each other's place the newest first."""
    role = order.index(instance.role) if instance.role in order else len(order)
    return (not instance.leads, role, natural_key(instance.place), -instance.created, instance.name)


def natural_key(name: str) -> list[tuple[bool, int, str]]:
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _NUMBERS.split(name) if part]


def _waits(pod: PodInfo) -> str:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.message or condition.reason
    return ""
