"""Incidents into the lines of `understudy incidents`, and into what programs read of them."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from understudy.cli.input.times import short_duration
from understudy.cli.output.tables import table
from understudy.kinds.registry import JOB_RESOURCES
from understudy.model.incidents import Incident, IncidentOutcome, StepStatistics, step_seconds, step_statistics
from understudy.objects.incidents import document_of

NONE = "-"
LONGEST_CAUSE = 60
COLUMNS = {
    "detected": "DETECTED",
    "decided": "DECIDED",
    "victims_out": "VICTIMS OUT",
    "seated": "SEATED",
    "running": "RUNNING",
    "total": "TOTAL",
}
_UNDER_WAY = {
    IncidentOutcome.SWAPPED: "being swapped",
    IncidentOutcome.SHRUNK: "shrinking",
    IncidentOutcome.REQUEUED: "queues",
}
_IN_TIME = {None: "", True: ", in time", False: ", too late"}  # by whether a notice was beaten
_KINDS = {resource.kind.lower(): resource.kind for resource in JOB_RESOURCES}


def select_incidents(incidents: Iterable[Incident], kinds: Collection[str], job: str | None) -> list[Incident]:
    """The incidents of jobs of these kinds and of lone pods, in the order in which they were detected; with `job`, only
    those of this job."""
    wanted, _, name = (job or "").rpartition("/")
    kind = _KINDS.get(wanted.partition(".")[0].lower(), wanted)
    found = []
    for one in incidents:
        its_kind, _, its_name = one.gang.split("/", 2)
        if (its_kind in (*kinds, "Pod")) and (not name or its_name == name) and (not kind or its_kind == kind):
            found.append(one)
    return sorted(found, key=lambda one: (one.detected_at, one.namespace, one.name))


def no_incidents_text(job: str | None, namespace: str) -> str:
    about = f" of job {job}" if job else ""
    return f"No incidents{about} in namespace {namespace}." if namespace else "No incidents in any namespace."


def incident_lines(
    incidents: Sequence[Incident], now: float, *, wide: bool = False, everywhere: bool = False
) -> list[str]:
    rows = [_head(wide, everywhere), *(_row(one, now, wide, everywhere) for one in incidents)]
    return [*table(rows), "", footer(incidents)]


def footer(incidents: Sequence[Incident]) -> str:
    """The number of incidents, and how long they took."""
    count = len(incidents)
    still = sum(one.open for one in incidents)
    words = f"{count} incident{'s' * (count != 1)}" + (f" ({still} open)" if still else "")
    total = step_statistics(incidents).get("total")
    return f"{words}: median {seconds_text(total.median)}, p99 {seconds_text(total.p99)}" if total else words


def incident_line(incident: Incident, now: float) -> str:
    """One incident as a line of `understudy describe`."""
    after = f" in {seconds_text(incident.total)}" if incident.total is not None else ""
    return f"{short_duration(now - incident.detected_at)} ago: {incident.cause}; {outcome(incident)}{after}"


def outcome(incident: Incident) -> str:
    """`swapped (spare)`, after a notice `swapped (spare), in time`; of an open one, what is being done."""
    if incident.open:
        doing = _UNDER_WAY.get(incident.decision)
        return f"open ({doing})" if doing else "open"
    sources = f" ({', '.join(incident.sources)})" if incident.sources else ""
    return f"{incident.outcome}{sources}{_IN_TIME[incident.beaten]}"


def incidents_figures(incidents: Sequence[Incident]) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    return {
        "incidents": [incident_figures(one) for one in incidents],
        "summary": {_camel(step): _figures(figures) for step, figures in step_statistics(incidents).items()},
    }


def incident_figures(incident: Incident) -> dict[str, Any]:
    document = document_of(incident)
    spec, status = document["spec"], document["status"]
    job = spec.pop("job")
    return {
        "name": incident.name,
        "namespace": incident.namespace,
        "kind": job["kind"],
        "job": job["name"],
        "uid": job["uid"],
        **spec,
        **{key: value for key, value in status.items() if key != "victimCount"},
    }


def _figures(figures: StepStatistics) -> dict[str, float]:
    return {"count": figures.count, "median": round(figures.median, 6), "p99": round(figures.p99, 6)}


def _head(wide: bool, everywhere: bool) -> list[str]:
    head = ["WHEN", "JOB", "CAUSE", "OUTCOME", *COLUMNS.values()]
    return [*(["NAMESPACE"] * (everywhere or wide)), *head, *(["NODES", "MOVES", "VICTIMS", "NAME"] * wide)]


def _row(incident: Incident, now: float, wide: bool, everywhere: bool) -> list[str]:
    _, namespace, job = incident.gang.split("/", 2)
    cause = (
        incident.cause if wide or len(incident.cause) <= LONGEST_CAUSE else f"{incident.cause[: LONGEST_CAUSE - 1]}…"
    )
    row = [f"{short_duration(now - incident.detected_at)} ago", job, cause, outcome(incident), *step_cells(incident)]
    return [*([namespace] * (everywhere or wide)), *row, *(_details(incident) if wide else ())]


def step_cells(incident: Incident) -> list[str]:
    """The cells of one incident, one for each column."""
    seconds = step_seconds(incident)
    if incident.failed_at is None:
        seconds.pop("detected")  # from there on it counts
    return [seconds_text(seconds.get(step)) for step in COLUMNS]


def _details(incident: Incident) -> list[str]:
    moves = ",".join(f"{move.from_node or '?'}->{move.to_node}" for move in incident.moves)
    return [",".join(incident.nodes) or NONE, moves or NONE, ",".join(incident.victims) or NONE, incident.name]


def seconds_text(seconds: float | None) -> str:
    """A duration with three digits: 0.214s, 12.3s, 350s."""
    if seconds is None:
        return NONE
    return f"{seconds:.3f}s" if seconds < 10 else f"{seconds:.1f}s" if seconds < 100 else f"{seconds:.0f}s"


def _camel(step: str) -> str:
    first, *rest = step.split("_")
    return first + "".join(part.capitalize() for part in rest)
