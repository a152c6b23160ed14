"""GET metrics.k8s.io: the agent is asked what its containers use, and the answer is not stored."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from understudy.embedded import agent_protocol
from understudy.embedded.agent_protocol import AgentRefused
from understudy.embedded.api import usage_metrics
from understudy.embedded.api.usage_metrics import (
    NODE_METRICS,
    POD_METRICS,
    Document,
    Measurement,
    measured_node,
    measured_pod,
)
from understudy.embedded.schema.errors import ApiError, Details, no_such_path, not_found
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target, locate, not_allowed
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.registry.get import selected
from understudy.embedded.server.registry.state import ServerState
from understudy.objects.resources import PODS, Resource

_encode = msgspec.json.Encoder().encode


async def read_metrics(state: ServerState, request: Request, rest: Sequence[str]) -> Response:
    """`rest` is the path below the version: that of nodes or pods in the core API."""
    target = locate(state.resources, "", "v1", list(rest))
    resource = next((one for one in usage_metrics.METRICS if target and one.plural == target.served.resource.key), None)
    if target is None or resource is None or target.sub:
        raise no_such_path()
    if request.method not in ("GET", "HEAD") or request.flag("watch"):
        raise not_allowed()
    items = await _items(state, request, target, resource)
    if not target.name:
        return Response(_encode(usage_metrics.metrics_list(resource, items)))
    if not items:
        raise not_found(f"{resource.kind.lower()}", resource.group, target.name)
    return Response(_encode(items[0]))


async def _items(state: ServerState, request: Request, target: Target, resource: Resource) -> list[Document]:
    measured = await _measurement(state)
    if target.name:
        record = state.store.get(target.key)
        bodies = [record.body] if record is not None else []
    else:
        bodies = [record.body for record in selected(state, request, target)]
    if resource is POD_METRICS:
        return usage_metrics.pod_metrics(measured, map(measured_pod, bodies))
    assert resource is NODE_METRICS
    pods = (measured_pod(record.body) for record in state.store.list(PODS.key))
    return usage_metrics.node_metrics(measured, map(measured_node, bodies), pods)


async def _measurement(state: ServerState) -> Measurement:
    try:
        report = await agent_protocol.read_usage(state.folder.agent_socket)
    except AgentRefused as away:
        message = f"the usage of containers cannot be read: {away}"
        details = Details(retry_after_seconds=1)
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", message, details) from None
    return Measurement.of(report, state.timestamp())
