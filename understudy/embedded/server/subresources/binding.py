"""Pods onto nodes: one by one as Kubernetes does it, or a whole gang at once, all or nobody."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.errors import bad_request, conflict, not_found
from understudy.embedded.schema.types.pods import Pod, PodCondition
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_as, read_json
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response, success
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put
from understudy.embedded.store.records import Key, Put
from understudy.objects.resources import PODS
from understudy.ports import PodBinding

_MOST_SEATS = 10_000


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Pod(_Named, frozen=True):
    annotations: Mapping[str, str] = {}


class Binding(msgspec.Struct, frozen=True):
    """What POST pods/{name}/binding says."""

    target: _Named
    metadata: _Pod = _Pod()


class Seatings(msgspec.Struct, frozen=True):
    """What POST seatings says."""

    seatings: list[PodBinding]


_binding = msgspec.json.Decoder(Binding).decode
_seatings = msgspec.json.Decoder(Seatings).decode


async def bind_pod(state: ServerState, request: Request, target: Target) -> Response:
    given = read_as(_binding, await read_json(request), "Binding")
    if not given.target.name:
        raise bad_request("target.name: Required value")
    seating = PodBinding(target.name, given.metadata.uid, given.target.name, given.metadata.annotations)
    if given.metadata.name not in ("", target.name):
        raise bad_request("name in URL does not match name in Binding object")
    write = _seated(state, target.namespace, seating)
    if write is not None and not request.dry_run:
        await state.store.submit([write])
    return success(code=201)


async def bind_gang(state: ServerState, request: Request, namespace: str) -> Response:
    given = read_as(_seatings, await read_json(request), "list of seatings").seatings
    if not 0 < len(given) <= _MOST_SEATS:
        raise bad_request(f"seatings: give between 1 and {_MOST_SEATS} of them")
    if len({seating.pod for seating in given}) < len(given):
        raise bad_request("seatings: a pod stands there twice")
    for seating in given:
        if state.store.newest(Key(PODS.key, namespace, seating.pod)) is None:
            raise conflict(PODS.plural, "", seating.pod, "the pod is gone")
    writes = [write for seating in given if (write := _seated(state, namespace, seating, repeatable=True)) is not None]
    if writes and not request.dry_run:
        await state.store.submit(writes)
    return success(code=201)


def _seated(state: ServerState, namespace: str, seating: PodBinding, *, repeatable: bool = False) -> Put | None:
    """None where it is seated there already, if that is allowed. A gang may be: its request is made again when its
    answer was lost. A single binding is refused then, as Kubernetes does."""
    key = Key(PODS.key, namespace, seating.pod)
    record = state.store.newest(key)
    if record is None:
        raise not_found(PODS.plural, "", seating.pod)
    pod = state.served(PODS).form.load(record.body)
    assert isinstance(pod, Pod)
    if repeatable and _sits(pod, seating):
        return None
    if why := why_not(pod, seating):
        raise conflict(f"{PODS.plural}/binding", "", seating.pod, why)
    pod.spec.node_name = seating.node
    if seating.annotations:
        pod.metadata.annotations = {**(pod.metadata.annotations or {}), **seating.annotations}
    pod.status.conditions = _scheduled(pod, state.timestamp())
    pod.status.nominated_node_name = UNSET  # it has the seat that was kept for it, or another
    return put(key, pod)


def _sits(pod: Pod, seating: PodBinding) -> bool:
    same = not seating.uid or pod.metadata.uid == seating.uid
    return same and pod.metadata.deletion_timestamp is UNSET and pod.spec.node_name == seating.node


def why_not(pod: Pod, seating: PodBinding) -> str:
    """'' where the pod may sit there."""
    if seating.uid and pod.metadata.uid != seating.uid:
        return f"Precondition failed: UID in precondition: {seating.uid}, UID in object meta: {pod.metadata.uid}"
    if pod.metadata.deletion_timestamp is not UNSET:
        return f"pod {seating.pod} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {seating.pod} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {seating.pod} has non-empty .spec.schedulingGates"
    return ""


def _scheduled(pod: Pod, now: str) -> list[PodCondition]:
    others = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
    return [PodCondition(type="PodScheduled", status="True", last_transition_time=now), *others]
