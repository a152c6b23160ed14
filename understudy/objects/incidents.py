"""Incidents as objects of the cluster: an Incident of the model into a document, and back."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from understudy.model.incidents import STEPS, Incident, IncidentOutcome, step_seconds
from understudy.model.plans import Move, SeatSource
from understudy.objects.meta import Part, Time
from understudy.objects.resources import INCIDENTS

Document = dict[str, Any]

DECIMALS = 4  # of seconds; the timestamps are more precise


class _Job(Part, frozen=True):
    kind: str
    name: str
    uid: str = ""


class _Spec(Part, frozen=True):
    job: _Job
    cause: str = ""
    nodes: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


class _Move(Part, frozen=True):
    member: str
    from_: str = msgspec.field(name="from", default="")
    to: str = ""
    source: SeatSource = SeatSource.IDLE


class _Status(Part, frozen=True):
    outcome: IncidentOutcome = IncidentOutcome.OPEN
    decision: IncidentOutcome = IncidentOutcome.OPEN
    wanted: int = 0
    moves: tuple[_Move, ...] = ()
    victims: tuple[str, ...] = ()
    failed_at: Time | None = None
    detected_at: Time | None = None
    decided_at: Time | None = None
    victims_out_at: Time | None = None
    seated_at: Time | None = None
    running_at: Time | None = None
    deadline: Time | None = None


class _Metadata(Part, frozen=True):
    name: str
    namespace: str = "default"
    creation_timestamp: Time | None = None


class StoredIncident(Part, frozen=True):
    """As the API has it."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = _Status()

    @property
    def incident(self) -> Incident:
        spec, status, meta = self.spec, self.status, self.metadata
        made = meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0
        times = {f"{step}_at": _seconds(getattr(status, f"{step}_at")) for step in STEPS}
        times["detected_at"] = made if times["detected_at"] is None else times["detected_at"]
        return Incident(
            name=meta.name,
            gang=f"{spec.job.kind}/{meta.namespace}/{spec.job.name}",
            uid=spec.job.uid,
            cause=spec.cause,
            nodes=spec.nodes,
            members=spec.members,
            wanted=status.wanted,
            decision=status.decision,
            outcome=status.outcome,
            moves=tuple(Move(move.member, move.from_, move.to, move.source) for move in status.moves),
            victims=status.victims,
            deadline=_seconds(status.deadline),
            **times,  # type: ignore[arg-type]  # one for every step, and detected_at is never None
        )


_read = msgspec.json.Decoder(StoredIncident).decode


def incident_of(raw: bytes) -> Incident:
    """Raises msgspec.DecodeError where it is none."""
    return _read(raw).incident


def document_of(incident: Incident) -> Document:
    kind, namespace, name = incident.gang.split("/", 2)
    return {
        "apiVersion": INCIDENTS.api_version,
        "kind": INCIDENTS.kind,
        "metadata": {"name": incident.name, "namespace": namespace},
        "spec": {
            "job": {"kind": kind, "name": name, "uid": incident.uid},
            "cause": incident.cause,
            "nodes": list(incident.nodes),
            "members": list(incident.members),
        },
        "status": _status(incident),
    }


def _status(incident: Incident) -> Document:
    """Steps that were not reached are written as null, so that a patch takes away what was reached in vain."""
    reached = step_seconds(incident)
    return {
        "outcome": str(incident.outcome),
        "decision": str(incident.decision),
        "wanted": incident.wanted,
        "moves": [
            {"member": move.member, "from": move.from_node, "to": move.to_node, "source": str(move.source)}
            for move in incident.moves
        ],
        "victims": list(incident.victims),
        "victimCount": len(incident.victims),
        **{_camel(f"{step}_at"): _written(incident.at(step)) for step in STEPS},
        "deadline": _written(incident.deadline),
        "beaten": incident.beaten,
        "seconds": {
            _camel(step): round(reached[step], DECIMALS) if step in reached else None for step in (*STEPS[1:], "total")
        },
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _written(moment: float | None) -> str | None:
    """With microseconds: a swap may take only some thousands of them."""
    return None if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
