"""Nodes and the pods on them into the tables of `understudy top node`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from understudy.cli.complaint import BadInput, suggestion
from understudy.cli.jobs.figures import written
from understudy.cli.jobs.instances import natural
from understudy.cli.jobs.roles import accelerators, amounts_of
from understudy.cli.jobs.seen import SeenNode, SeenPod
from understudy.cli.jobs.statuses import true_condition
from understudy.cli.jobs.tables import status_colours, table
from understudy.model.quantity import format_quantity, parse_quantity

RULE = "-" * 89
_ROLE, _OLD_ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
_SPARE = "understudy.dev/spare"


class Holding(msgspec.Struct, frozen=True):
    """A pod and what it takes of its node."""

    namespace: str
    name: str
    requests: Mapping[str, int]
    limit: int  # of accelerators

    @property
    def gpus(self) -> int:
        return accelerators(self.requests)


class Usage(msgspec.Struct, frozen=True):
    name: str
    address: str
    role: str
    ready: bool
    schedulable: bool
    spare: bool
    offers: Mapping[str, int]
    holdings: tuple[Holding, ...]

    @property
    def total(self) -> int:
        return accelerators(self.offers)

    @property
    def allocated(self) -> int:
        return sum(holding.gpus for holding in self.holdings)

    @property
    def status(self) -> str:
        return "ready" if self.ready else "notReady"

    def taken(self, resource: str) -> int:
        return sum(holding.requests.get(resource, 0) for holding in self.holdings)


def selected(nodes: Sequence[SeenNode], names: Sequence[str]) -> list[SeenNode]:
    """Those asked for, else all; by name, with the numbers in it as numbers."""
    known = {node.metadata.name: node for node in nodes}
    for name in names:
        if name not in known:
            raise BadInput(f"top node: no node {name!r}; {suggestion(name, known, 'there are')}")
    return [known[name] for name in dict.fromkeys(names or sorted(known, key=natural))]


def usage_of(nodes: Iterable[SeenNode], pods: Iterable[SeenPod]) -> list[Usage]:
    on: dict[str, list[SeenPod]] = {}
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            on.setdefault(pod.spec.node_name, []).append(pod)
    return [_usage(node, on.get(node.metadata.name, ())) for node in nodes]


def _usage(node: SeenNode, pods: Sequence[SeenPod]) -> Usage:
    labels = node.metadata.labels
    addresses = {one.type: one.address for one in node.status.addresses}
    roles = sorted(label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE))
    return Usage(
        name=node.metadata.name,
        address=addresses.get("InternalIP") or "unknown",
        role=",".join(filter(None, roles)) or labels.get(_OLD_ROLE) or "<none>",
        ready=true_condition(node.status.conditions, "Ready") is not None,
        schedulable=not node.spec.unschedulable,
        spare=_SPARE in labels,
        offers={name: parse_quantity(amount, name) for name, amount in node.status.allocatable.items()},
        holdings=tuple(sorted((_holding(pod) for pod in pods), key=lambda one: (one.namespace, natural(one.name)))),
    )


def _holding(pod: SeenPod) -> Holding:
    limits: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, amount in container.resources.limits.items():
            limits[name] = limits.get(name, 0) + parse_quantity(amount, name)
    meta = pod.metadata
    return Holding(meta.namespace, meta.name, amounts_of(pod.spec), accelerators(limits))


def in_short(usages: Sequence[Usage], *, wide: bool = False) -> list[str]:
    head = ["NAME", "IPADDRESS", "ROLE", "STATUS", "GPU(Total)", "GPU(Allocated)"]
    if wide:
        head += [
            "CPU(Total)",
            "CPU(Requested)",
            "MEMORY(Total)",
            "MEMORY(Requested)",
            "PODS",
            "SCHEDULING",
            "RESOURCES",
        ]
    rows = [head]
    for usage in usages:
        row = [usage.name, usage.address, usage.role, usage.status, str(usage.total), str(usage.allocated)]
        rows.append(row + (_wide_cells(usage) if wide else []))
    return [*table(rows, status_colours()), RULE, "Allocated/Total GPUs In Cluster:", _share(usages), *_active(usages)]


def _wide_cells(usage: Usage) -> list[str]:
    cells = []
    for resource in ("cpu", "memory"):
        cells += [format_quantity(usage.offers.get(resource, 0), resource)]
        cells += [format_quantity(usage.taken(resource), resource)]
    scheduling = "enabled" if usage.schedulable else "disabled"
    kinds = [f"{amount} {name}" for name, amount in written(usage.offers).items() if accelerators({name: 1})]
    spare = ",spare" if usage.spare else ""
    return [*cells, str(len(usage.holdings)), scheduling + spare, ", ".join(kinds) or "<none>"]


def _active(usages: Sequence[Usage]) -> list[str]:
    """Where some nodes are not ready, what is left without them."""
    ready = [usage for usage in usages if usage.ready]
    if len(ready) == len(usages):
        return []
    return ["Allocated/Total GPUs(Active) In Cluster:", _share(ready)]


def in_detail(usages: Sequence[Usage], *, named: bool = False) -> list[str]:
    """Nodes with accelerators; the others too where they were asked for by name."""
    lines: list[str] = []
    for usage in usages:
        if usage.total or named:
            lines += ["", *_detail(usage)]
    return [*lines, "", f"Allocated/Total GPUs In Cluster:  {_share(usages)}"]


def _detail(usage: Usage) -> list[str]:
    head = [["NAME:", usage.name], ["IPADDRESS:", usage.address], ["ROLE:", usage.role]]
    holders = [one for one in usage.holdings if one.gpus]
    rows = [[one.namespace, one.name, str(one.gpus), str(one.limit)] for one in holders]
    held = ["", *table([["NAMESPACE", "NAME", "GPU REQUESTS", "GPU LIMITS"], *rows])] if rows else []
    totals = [
        [f"Total GPUs In Node {usage.name}:", str(usage.total)],
        [f"Allocated GPUs In Node {usage.name}:", f"{usage.allocated} ({_percent(usage.allocated, usage.total)}%)"],
    ]
    return [*table(head), *held, "", *table(totals), RULE]


def _share(usages: Sequence[Usage]) -> str:
    allocated, total = sum(usage.allocated for usage in usages), sum(usage.total for usage in usages)
    return f"{allocated}/{total} ({_percent(allocated, total)}%)"


def _percent(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 0


def node_figures(usage: Usage) -> dict[str, Any]:
    taken: dict[str, int] = {}
    for holding in usage.holdings:
        for name, amount in holding.requests.items():
            taken[name] = taken.get(name, 0) + amount
    return {
        "name": usage.name,
        "ip": usage.address,
        "role": usage.role,
        "status": usage.status,
        "schedulable": usage.schedulable,
        "spare": usage.spare,
        "totalGPUs": usage.total,
        "allocatedGPUs": usage.allocated,
        "allocatable": written(usage.offers),
        "requests": written(taken),
        "instances": [
            {"namespace": one.namespace, "name": one.name, "requestGPUs": one.gpus, "requests": written(one.requests)}
            for one in usage.holdings
        ],
    }
