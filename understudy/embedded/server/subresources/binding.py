"""POST pods/{name}/binding, and POST seatings: a whole gang is bound to nodes in one write, or not at all.

A list of seatings may name pods that are bound already: if one of them has lost that seat, nothing is bound."""

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
    """The body of POST pods/{name}/binding."""

    target: _Named
    metadata: _Pod = _Pod()


class PodBindings(msgspec.Struct, frozen=True):
    """The body of POST seatings."""

    bindings: list[PodBinding] = msgspec.field(name="seatings")


class _SeatedMeta(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    deletion_timestamp: str = ""


class _SeatedSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _SeatedStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class _SeatedPod(msgspec.Struct, frozen=True):
    """What tells whether a pod has a seat: decoding this much takes a tenth of the time of a pod."""

    metadata: _SeatedMeta = _SeatedMeta()
    spec: _SeatedSpec = _SeatedSpec()
    status: _SeatedStatus = _SeatedStatus()


_binding = msgspec.json.Decoder(Binding).decode
_bindings = msgspec.json.Decoder(PodBindings).decode
_seated_pod = msgspec.json.Decoder(_SeatedPod).decode


async def bind_pod(state: ServerState, request: Request, target: Target) -> Response:
    given = read_as(_binding, await read_json(request), "Binding")
    if not given.target.name:
        raise bad_request("target.name: Required value")
    binding = PodBinding(target.name, given.metadata.uid, given.target.name, given.metadata.annotations)
    if given.metadata.name not in ("", target.name):
        raise bad_request("name in URL does not match name in Binding object")
    write = _bind(state, target.namespace, binding)
    if write is not None and not request.dry_run:
        await state.store.submit([write])
    return success(code=201)


async def bind_gang(state: ServerState, request: Request, namespace: str) -> Response:
    given = read_as(_bindings, await read_json(request), "list of seatings").bindings
    if not 0 < len(given) <= _MOST_SEATS:
        raise bad_request(f"seatings: give between 1 and {_MOST_SEATS} of them")
    if len({binding.pod for binding in given}) < len(given):
        raise bad_request("seatings: a pod stands there twice")
    for binding in given:
        if state.store.newest(Key(PODS.key, namespace, binding.pod)) is None:
            raise conflict(PODS.plural, "", binding.pod, "the pod is gone")
    writes = [write for binding in given if (write := _bind(state, namespace, binding, repeatable=True)) is not None]
    if writes and not request.dry_run:
        await state.store.submit(writes)
    return success(code=201)


def _bind(state: ServerState, namespace: str, binding: PodBinding, *, repeatable: bool = False) -> Put | None:
    """None for a pod that is bound to this node already, if `repeatable`: the request for a gang names the members that
    keep their seats, and is repeated when its response was lost. A second single binding is refused, as in
    Kubernetes."""
    key = Key(PODS.key, namespace, binding.pod)
    record = state.store.newest(key)
    if record is None:
        raise not_found(PODS.plural, "", binding.pod)
    if repeatable and _is_seated(_seated_pod(record.body), binding):
        return None
    pod = state.served(PODS).form.load(record.body)
    assert isinstance(pod, Pod)
    if why := binding_conflict(pod, binding):
        raise conflict(f"{PODS.plural}/binding", "", binding.pod, why)
    pod.spec.node_name = binding.node
    if binding.annotations:
        pod.metadata.annotations = {**(pod.metadata.annotations or {}), **binding.annotations}
    pod.status.conditions = _with_scheduled_condition(pod, state.timestamp())
    pod.status.nominated_node_name = UNSET  # the nomination ends with the binding
    return put(key, pod)


def _is_seated(pod: _SeatedPod, binding: PodBinding) -> bool:
    """Whether the pod has this seat and may keep it. A pod that has succeeded needs no seat any more."""
    same = not binding.uid or pod.metadata.uid == binding.uid
    stays = not pod.metadata.deletion_timestamp and pod.status.phase != "Failed"
    return same and stays and pod.spec.node_name == binding.node


def binding_conflict(pod: Pod, binding: PodBinding) -> str:
    """Why the pod cannot be bound; '' where it can."""
    if binding.uid and pod.metadata.uid != binding.uid:
        return f"Precondition failed: UID in precondition: {binding.uid}, UID in object meta: {pod.metadata.uid}"
    if pod.metadata.deletion_timestamp is not UNSET:
        return f"pod {binding.pod} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {binding.pod} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {binding.pod} has non-empty .spec.schedulingGates"
    return ""


def _with_scheduled_condition(pod: Pod, now: str) -> list[PodCondition]:
    others = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
    return [PodCondition(type="PodScheduled", status="True", last_transition_time=now), *others]
