"""The lines around a violation: what the ledger, the API and the faults tell of the gangs in question at that time."""

from collections.abc import Iterator

import msgspec

from tests.chaos.judge.case import Case, Violation

AROUND = 6.0  # seconds
MOST = 40


def with_timeline(case: Case, violation: Violation, start: float) -> Violation:
    at = violation.at
    if at is None:
        return violation
    nearest = sorted(_lines(case, violation, at, start), key=lambda line: abs(line[0] - at))[:MOST]
    texts = [f"{moment - start:9.3f}  {words}" for moment, words in sorted(nearest)]
    return msgspec.structs.replace(violation, timeline=(*violation.timeline, *texts))


def _lines(case: Case, violation: Violation, at: float, start: float) -> Iterator[tuple[float, str]]:
    first, last, names = at - AROUND, at + AROUND / 2, set(violation.gangs)
    for line in case.ledger:
        if first <= line.at <= last and line.gang in names:
            more = f"{line.why}{line.lock}"
            yield line.at, f"ledger  {line.what} {line.pod} on {line.node} devices {','.join(line.devices)} {more}"
    for pod in case.history.pods:
        if first <= pod.arrived <= last and pod.gang in names:
            state = f"{pod.phase} node={pod.node or '-'} nominated={pod.nominated or '-'}"
            flags = f"{' leaving' * pod.leaving}{' gone' * pod.gone} {pod.disruption} {pod.reason[:80]}"
            yield pod.arrived, f"pod     r{pod.revision} {pod.name} {state}{flags}"
    for job in case.history.jobs:
        if first <= job.arrived <= last and job.name in names:
            flags = f"{' suspended' * job.suspended}{' requeued' * job.requeued} {job.ended}"
            yield (
                job.arrived,
                f"job     r{job.revision} {job.kind} {job.name} holds={','.join(job.holds) or '-'}{flags}",
            )
    for node in case.history.nodes:
        if first <= node.arrived <= last and node.name in violation.nodes:
            yield node.arrived, f"node    r{node.revision} {node.name} {'ready' if node.ready else 'not ready'}"
    for event in case.history.events:
        if first <= event.arrived <= last and event.name in names.union(violation.nodes):
            yield (
                event.arrived,
                f"event   r{event.revision} {event.kind} {event.name} {event.reason}: {event.message[:160]}",
            )
    for fault in case.faults:
        if fault.began <= last and (fault.ended is None or fault.ended >= first):
            until = "the end" if fault.ended is None else f"{fault.ended - start:.2f}"
            yield max(fault.began, first), f"FAULT   {fault.kind} {fault.target} until {until}"
