"""Nodes and the pods on them into the tables of `understudy top node`."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.cli.input.times import rfc3339
from understudy.cli.output.tables import status_colours, table
from understudy.cli.queries.nodes import NodeSummary, NodeUsage
from understudy.cli.queries.objects import NodeState
from understudy.cli.views.figures import written
from understudy.cli.views.node_states import state_columns
from understudy.kinds.roles import accelerators
from understudy.model.quantity import format_quantity

RULE = "-" * 89


def node_lines(
    usages: Sequence[NodeUsage], states: Mapping[str, NodeState] = {}, now: float = 0.0, *, wide: bool = False
) -> list[str]:
    """Spot capacity and announced ends have columns where there are any."""
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
    columns = state_columns([states.get(usage.name) for usage in usages], now)
    rows = [row + cells for row, cells in zip(rows, columns, strict=True)]
    return [*table(rows, status_colours()), RULE, "Allocated/Total GPUs In Cluster:", _share(usages), *_active(usages)]


def _wide_cells(usage: NodeUsage) -> list[str]:
    cells = []
    for resource in ("cpu", "memory"):
        cells += [format_quantity(usage.offers.get(resource, 0), resource)]
        cells += [format_quantity(usage.taken(resource), resource)]
    scheduling = "enabled" if usage.schedulable else "disabled"
    kinds = [f"{amount} {name}" for name, amount in written(usage.offers).items() if accelerators({name: 1})]
    spare = ",spare" if usage.spare else ""
    return [*cells, str(len(usage.holdings)), scheduling + spare, ", ".join(kinds) or "<none>"]


def _active(usages: Sequence[NodeUsage]) -> list[str]:
    """The share of the ready nodes, where some are not ready."""
    ready = [usage for usage in usages if usage.ready]
    if len(ready) == len(usages):
        return []
    return ["Allocated/Total GPUs(Active) In Cluster:", _share(ready)]


def node_detail_lines(
    usages: Sequence[NodeUsage], states: Mapping[str, NodeState] = {}, now: float = 0.0, *, named: bool = False
) -> list[str]:
    """Nodes with accelerators; the others too where they were asked for by name."""
    lines: list[str] = []
    for usage in usages:
        if usage.total or named:
            [head, cells] = state_columns([states.get(usage.name)], now)
            marks = [[f"{title}:", cell] for title, cell in zip(head, cells, strict=True)]
            lines += ["", *_detail(usage, marks)]
    return [*lines, "", f"Allocated/Total GPUs In Cluster:  {_share(usages)}"]


def _detail(usage: NodeUsage, marks: list[list[str]]) -> list[str]:
    head = [["NAME:", usage.name], ["IPADDRESS:", usage.address], ["ROLE:", usage.role], *marks]
    holders = [one for one in usage.holdings if one.gpus]
    rows = [[one.namespace, one.name, str(one.gpus), str(one.limit)] for one in holders]
    held = ["", *table([["NAMESPACE", "NAME", "GPU REQUESTS", "GPU LIMITS"], *rows])] if rows else []
    totals = [
        [f"Total GPUs In Node {usage.name}:", str(usage.total)],
        [f"Allocated GPUs In Node {usage.name}:", f"{usage.allocated} ({_percent(usage.allocated, usage.total)}%)"],
    ]
    return [*table(head), *held, "", *table(totals), RULE]


def _share(usages: Sequence[NodeUsage]) -> str:
    allocated, total = sum(usage.allocated for usage in usages), sum(usage.total for usage in usages)
    return f"{allocated}/{total} ({_percent(allocated, total)}%)"


def _percent(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 0


def usage_figures(usage: NodeUsage, state: NodeState) -> dict[str, Any]:
    deadline = state.health.deadline
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
        "capacity": state.capacity.value,
        "health": state.health.verdict.value,
        "reason": state.health.cause,
        "deadline": None if deadline is None else rfc3339(deadline),
        "totalGPUs": usage.total,
        "allocatedGPUs": usage.allocated,
        "allocatable": written(usage.offers),
        "requests": written(taken),
        "instances": [
            {"namespace": one.namespace, "name": one.name, "requestGPUs": one.gpus, "requests": written(one.requests)}
            for one in usage.holdings
        ],
    }


def node_figures(one: NodeSummary) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    return {
        **usage_figures(one.usage, one.state),
        "status": one.status,
        "pool": one.pool,
        "slice": one.slice,
        "spare": one.spare,
        "ageSeconds": int(one.age),
    }
