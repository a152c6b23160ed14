"""How the GPUs of a machine are into conditions of its Node; the node agent writes no other conditions than these."""

import msgspec

from understudy.node_agent.gpus.gpu_report import GpuReport

MISSING, UNHEALTHY, XID = "GPUMissing", "GPUUnhealthy", "XIDErrors"
CONDITIONS = (MISSING, UNHEALTHY, XID)
# By these the agent knows its own conditions again. One with another reason is reported by another monitor.
REASONS = frozenset((
    "AllGPUsPresent", "GPULost", "NoGPUProblem", "UncorrectableECCErrors", "RowRemapFailure", "NoXIDErrors",
    "FatalXIDErrors", "GPUToolFails",
))  # fmt: skip


class GpuCondition(msgspec.Struct, frozen=True):
    type: str
    status: str  # True: the GPU is not fit for work; Unknown: nothing can be said
    reason: str
    message: str


def missing_condition(report: GpuReport, expected: int) -> GpuCondition:
    """`expected`: how many GPUs this machine has."""
    if report.lost:
        return GpuCondition(MISSING, "True", "GPULost", f"does not answer on the bus: {', '.join(report.lost)}")
    if len(report.present) < expected:
        return GpuCondition(MISSING, "True", "GPULost", f"{len(report.present)} of {expected} GPUs are there")
    return GpuCondition(MISSING, "False", "AllGPUsPresent", f"{len(report.present)} GPUs answer")


def unhealthy_condition(report: GpuReport) -> GpuCondition:
    if report.unmapped:
        detail = f"a row of memory could not be remapped: {', '.join(report.unmapped)}"
        return GpuCondition(UNHEALTHY, "True", "RowRemapFailure", detail)
    if report.uncorrectable:
        detail = ", ".join(f"{bus}: {count}" for bus, count in report.uncorrectable)
        return GpuCondition(UNHEALTHY, "True", "UncorrectableECCErrors", f"uncorrectable ECC errors: {detail}")
    return GpuCondition(UNHEALTHY, "False", "NoGPUProblem", "no uncorrectable memory errors")


def xid_condition(in_force: tuple[tuple[str, tuple[int, ...]], ...]) -> GpuCondition:
    if not in_force:
        return GpuCondition(XID, "False", "NoXIDErrors", "no fatal Xid since the driver was loaded")
    detail = "; ".join(f"{bus}: {', '.join(map(str, numbers))}" for bus, numbers in in_force)
    return GpuCondition(XID, "True", "FatalXIDErrors", f"Xid of {detail}")


def unknown_conditions(problem: str) -> tuple[GpuCondition, ...]:
    """The tool fails: that is shown, but costs no seats, since it says nothing about the GPUs."""
    return tuple(GpuCondition(kind, "Unknown", "GPUToolFails", problem[:300]) for kind in (MISSING, UNHEALTHY))
