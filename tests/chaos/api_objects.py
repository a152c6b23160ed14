"""What the observer keeps of objects: as much of each state, with its revision, as the invariants are about."""

from typing import Any

import msgspec

from bench.hotswap.replay import JobState as JobState
from bench.hotswap.replay import PodState as PodState
from bench.hotswap.replay import seats_in
from understudy.kinds.annotations import HOLDS, PREFIX
from understudy.kinds.decoding import decode_json
from understudy.kinds.ownership import owner_of
from understudy.objects.pods import Pod

Document = dict[str, Any]


class ObservedEvent(msgspec.Struct, frozen=True, kw_only=True):
    revision: int
    arrived: float
    kind: str  # of the object it is about
    name: str
    reason: str
    message: str
    count: int = 1


class ObservedNode(msgspec.Struct, frozen=True, kw_only=True):
    revision: int
    arrived: float
    name: str
    ready: bool
    domain: str = ""
    ill: bool = False  # a condition says so that is not Ready, such as DiskPressure
    gone: bool = False


class ObservedClaim(msgspec.Struct, frozen=True, kw_only=True):
    revision: int
    arrived: float
    name: str


class ObservedIncident(msgspec.Struct, frozen=True, kw_only=True):
    revision: int
    arrived: float
    name: str
    job: str
    outcome: str
    gone: bool = False


ObservedObject = PodState | JobState | ObservedEvent | ObservedNode | ObservedClaim | ObservedIncident

_OVER = {"Complete": "Complete", "Completed": "Complete", "Succeeded": "Complete", "Failed": "Failed"}


def observe_pod(raw: bytes, document: Document, at: float, gone: bool) -> PodState:
    obj = decode_json(raw)
    assert isinstance(obj, Pod)
    owner = owner_of(obj)
    meta, status = document["metadata"], document.get("status", {})
    states = [one.get("state", {}) for one in status.get("containerStatuses", ())]
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    scheduled = conditions.get("PodScheduled", {})
    return PodState(
        revision=int(meta["resourceVersion"]),
        arrived=at,
        uid=meta["uid"],
        name=meta["name"],
        gang=owner.name,
        place=owner.slot or meta["name"],
        island=owner.island,
        node=document["spec"].get("nodeName", ""),
        nominated=status.get("nominatedNodeName", ""),
        phase=status.get("phase", ""),
        leaving="deletionTimestamp" in meta,
        running=bool(states) and all("running" in state for state in states),
        gone=gone,
        reason=scheduled.get("message", "") if scheduled.get("status") == "False" else "",
        disruption=conditions.get("DisruptionTarget", {}).get("reason", ""),
    )


def observe_job(document: Document, at: float, gone: bool) -> JobState:
    meta, status = document["metadata"], document.get("status") or {}
    notes = meta.get("annotations") or {}
    seats = seats_in(notes.get(HOLDS, ""))
    spec = document.get("spec") or {}
    true = [one for one in status.get("conditions") or () if one.get("status") == "True"]
    ended = next(((_OVER[one["type"]], one.get("message", "")) for one in true if one["type"] in _OVER), ("", ""))
    launcher = status.get("launcherStatus", "")
    return JobState(
        revision=int(meta["resourceVersion"]),
        arrived=at,
        kind=document["kind"],
        name=meta["name"],
        uid=meta["uid"],
        holds=tuple(place for place, _ in seats),
        hold_nodes=tuple(sorted({node for _, node in seats})),
        suspended=bool(spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend")),
        requeued=f"{PREFIX}requeued-at" in notes,
        ended=ended[0] or _OVER.get(launcher, ""),
        words=ended[1],
        gone=gone,
    )


def observe_event(document: Document, at: float) -> ObservedEvent:
    about = document["involvedObject"]
    return ObservedEvent(
        revision=int(document["metadata"]["resourceVersion"]),
        arrived=at,
        kind=about.get("kind", ""),
        name=about.get("name", ""),
        reason=document.get("reason", ""),
        message=document.get("message", ""),
        count=document.get("count") or 1,
    )


def observe_node(document: Document, at: float, gone: bool, domain: str = "") -> ObservedNode:
    """`domain` is the label whose values are the domains."""
    conditions = {one["type"]: one["status"] == "True" for one in document.get("status", {}).get("conditions", ())}
    ready = conditions.pop("Ready", False) and not gone
    meta = document["metadata"]
    return ObservedNode(
        revision=int(meta["resourceVersion"]),
        arrived=at,
        name=meta["name"],
        ready=ready,
        domain=(meta.get("labels") or {}).get(domain, ""),
        ill=any(conditions.values()),
        gone=gone,
    )


def observe_claim(document: Document, at: float) -> ObservedClaim:
    meta = document["metadata"]
    return ObservedClaim(revision=int(meta["resourceVersion"]), arrived=at, name=meta["name"])


def observe_incident(document: Document, at: float, gone: bool) -> ObservedIncident:
    meta = document["metadata"]
    return ObservedIncident(
        revision=int(meta["resourceVersion"]),
        arrived=at,
        name=meta["name"],
        job=document["spec"]["job"]["name"],
        outcome=document.get("status", {}).get("outcome", "open"),
        gone=gone,
    )
