"""POST serviceaccounts/{name}/token: a TokenRequest into a token, bound to the object that the request names."""

from typing import Any

import msgspec

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import ApiError, Cause, bad_request, conflict, invalid, not_found
from understudy.embedded.server.authentication.service_account_tokens import AUDIENCES, BoundObject, KubernetesClaims
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_as, read_json
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.registry.state import ServerState, rfc3339
from understudy.embedded.server.registry.update import find_record
from understudy.embedded.store.records import Key
from understudy.objects.resources import NODES, PODS, SECRETS, Resource

DEFAULT_SECONDS, LEAST_SECONDS, MOST_SECONDS = 3600, 600, 1 << 32
_GROUP = "authentication.k8s.io"
_BINDABLE = {("v1", "Pod"): PODS, ("v1", "Secret"): SECRETS}


class _Bound(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    audiences: tuple[str, ...] | None = None
    expiration_seconds: int | None = None
    bound_object_ref: _Bound | None = None


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    spec: _Spec = _Spec()


class _Meta(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    service_account_name: str = ""
    node_name: str = ""


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta
    spec: _PodSpec = _PodSpec()


_read_request = msgspec.json.Decoder(_Request).decode
_read_object = msgspec.json.Decoder(_Object).decode


async def create_token(state: ServerState, request: Request, target: Target) -> Response:
    asked = read_as(_read_request, await read_json(request), "TokenRequest")
    if asked.kind not in ("", "TokenRequest") or asked.api_version not in ("", f"{_GROUP}/v1"):
        raise bad_request(f"a TokenRequest of {_GROUP}/v1 is expected here")
    account = _read_object(find_record(state, target).body)
    spec = _checked(asked.spec, target.name)
    private = _bound(state, target, spec, BoundObject(target.name, account.metadata.uid))
    seconds = spec.expiration_seconds or DEFAULT_SECONDS
    audiences = spec.audiences or AUDIENCES
    token, expires = ("", 0) if request.dry_run else state.accounts.issue(private, audiences, seconds)
    document: dict[str, Any] = {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {"name": target.name, "namespace": target.namespace, "creationTimestamp": rfc3339(request.now)},
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.bound_object_ref,
        },
        "status": {"token": token, "expirationTimestamp": rfc3339(expires or request.now + seconds)},
    }
    return Response(msgspec.json.encode(document), 201)


def _checked(spec: _Spec, name: str) -> _Spec:
    found: list[Cause] = []
    seconds = spec.expiration_seconds
    if seconds is not None and seconds < LEAST_SECONDS:
        problem = "may not specify a duration less than 10 minutes"
        found.append(causes.bad_value("spec.expirationSeconds", seconds, problem))
    if seconds is not None and seconds > MOST_SECONDS:
        problem = "may not specify a duration larger than 2^32 seconds"
        found.append(causes.bad_value("spec.expirationSeconds", seconds, problem))
    if found:
        raise invalid("TokenRequest", _GROUP, name, found)
    return spec


def _bound(state: ServerState, target: Target, spec: _Spec, account: BoundObject) -> KubernetesClaims:
    ref = spec.bound_object_ref
    if ref is None:
        return KubernetesClaims(target.namespace, account)
    resource = _BINDABLE.get((ref.api_version, ref.kind))
    if resource is None:
        raise bad_request(f"cannot bind token to object of type {ref.api_version or 'no version'}, Kind={ref.kind}")
    bound, named = _read_bound(state, resource, target.namespace, ref)
    if resource is not PODS:
        return KubernetesClaims(target.namespace, account, secret=named)
    if bound.spec.service_account_name != account.name:
        raise bad_request(
            f'cannot bind token for serviceaccount "{account.name}" to pod running with different serviceaccount name.'
        )
    return KubernetesClaims(target.namespace, account, pod=named, node=_node(state, bound.spec.node_name))


def _read_bound(state: ServerState, resource: Resource, namespace: str, ref: _Bound) -> tuple[_Object, BoundObject]:
    record = state.store.newest(Key(resource.key, namespace, ref.name))
    if record is None:
        raise not_found(resource.plural, resource.group, ref.name)
    found = _read_object(record.body)
    if ref.uid and ref.uid != found.metadata.uid:
        raise _replaced(resource, ref)
    return found, BoundObject(ref.name, found.metadata.uid)


def _replaced(resource: Resource, ref: _Bound) -> ApiError:
    why = (
        f"the UID in the bound object reference ({ref.uid}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    return conflict(resource.plural, resource.group, ref.name, why)


def _node(state: ServerState, name: str) -> BoundObject | None:
    record = state.store.newest(Key(NODES.key, "", name)) if name else None
    return BoundObject(name, _read_object(record.body).metadata.uid) if record is not None else None
