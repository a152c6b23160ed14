"""From a path and a method to the handler that answers: the API as tables."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from understudy.embedded.schema.errors import ApiError, no_such_path
from understudy.embedded.server import metrics_endpoint, non_resource_paths, review_endpoint
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target, locate, not_allowed, resource_parts
from understudy.embedded.server.http.response import Response, StreamedResponse, with_warnings
from understudy.embedded.server.http.websocket import WebSocket
from understudy.embedded.server.registry import create, delete, get, patch, update
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.subresources import (
    binding,
    departures,
    ended_pods,
    eviction,
    pod_attach,
    pod_exec,
    pod_log,
    pod_port_forward,
    scale,
    token_request,
)

Handler = Callable[[ServerState, Request, Target], Awaitable[Response | StreamedResponse]]
Handlers = Mapping[str, Handler]
COLLECTION: Handlers = {
    "GET": get.list_or_watch,
    "POST": create.create,
    "DELETE": delete.delete_collection,
}
OBJECT: Handlers = {
    "GET": get.get,
    "PUT": update.replace,
    "PATCH": patch.patch,
    "DELETE": delete.delete,
}
STATUS: Handlers = {
    "GET": get.get,
    "PUT": update.replace,
    "PATCH": patch.patch,
}
SCALE: Handlers = {
    "GET": scale.read_scale,
    "PUT": scale.replace_scale,
    "PATCH": scale.patch_scale,
}
SUBRESOURCES: Mapping[tuple[str, str], Handlers] = {
    ("pods", "binding"): {"POST": binding.bind_pod},
    ("pods", "eviction"): {"POST": eviction.evict_pod},
    ("pods", "log"): {"GET": pod_log.read_log},
    ("pods", "exec"): {"GET": pod_exec.exec_without_upgrade, "POST": pod_exec.exec_without_upgrade},
    ("pods", "attach"): {"GET": pod_attach.attach_without_upgrade, "POST": pod_attach.attach_without_upgrade},
    ("pods", "portforward"): {
        "GET": pod_port_forward.port_forward_without_upgrade,
        "POST": pod_port_forward.port_forward_without_upgrade,
    },
    ("serviceaccounts", "token"): {"POST": token_request.create_token},
    ("namespaces", "finalize"): {"PUT": update.finalize_namespace},
}


# What is spoken to over a WebSocket.
SocketHandler = Callable[[ServerState, Request, Target, WebSocket], Awaitable[None]]
SOCKETS: Mapping[tuple[str, str], SocketHandler] = {
    ("pods", "attach"): pod_attach.serve_attach,
    ("pods", "exec"): pod_exec.serve_exec,
    ("pods", "portforward"): pod_port_forward.serve_port_forward,
}


def socket_handler_for(target: Target) -> SocketHandler:
    found = SOCKETS.get((target.served.resource.key, target.sub))
    if found is None:
        spoken = ", ".join(f"{resource}/{{name}}/{sub}" for resource, sub in SOCKETS)
        raise ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", f"only {spoken} can be spoken to over a WebSocket")
    return found


# Sub-resources of pods that Kubernetes has and this server has not, and what to use instead.
NOT_SERVED: Mapping[str, str] = {
    "proxy": "pods run on this machine: use their ports as they are",
    "ephemeralcontainers": "use kubectl exec",
}


def handler_for(method: str, target: Target) -> Handler:
    handlers = _handlers(target)
    found = handlers.get("GET" if method == "HEAD" else method)
    if found is None:
        raise not_allowed()
    return found


def _handlers(target: Target) -> Handlers:
    if not target.name:
        return COLLECTION
    if not target.sub:
        return OBJECT
    if target.sub not in target.served.subresources:
        raise _not_served(target)
    if target.sub == "status":
        return STATUS
    if target.sub == "scale":
        return SCALE
    return SUBRESOURCES.get((target.served.resource.key, target.sub), {})


def _not_served(target: Target) -> ApiError:
    if target.served.resource.key == "pods" and target.sub in NOT_SERVED:
        message = f"pods/{target.sub} is not offered by an embedded cluster; {NOT_SERVED[target.sub]}"
        return ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    return no_such_path()


async def dispatch(state: ServerState, request: Request) -> Response | StreamedResponse:
    if not request.user.is_admin:
        request = await state.authorizer.check(request)
    parts = resource_parts(request.path)
    if parts is None:
        _only(request, "GET", "HEAD")
        return _non_resource_path(state, request)
    group, version, rest = parts
    if rest:
        target = locate(state.resources, group, version, rest)
        if target is not None:
            return await _answer(state, request, target)
    match group, version, rest:
        case _, _, []:
            _only(request, "GET", "HEAD")
            return non_resource_paths.group_version(state, group, version)
        case "metrics.k8s.io", "v1beta1", _:
            return await metrics_endpoint.read_metrics(state, request, rest)
        case "understudy.dev", "v1", ["namespaces", namespace, "seatings"] if namespace:
            _only(request, "POST")
            return await binding.bind_gang(state, request, namespace)
        case "understudy.dev", "v1", ["namespaces", namespace, "departures"] if namespace:
            _only(request, "POST")
            return await departures.delete_pods(state, request, namespace)
        case "understudy.dev", "v1", ["namespaces", namespace, "endedpods"] if namespace:
            _only(request, "GET")
            return await ended_pods.list_ended_pods(state, request, namespace)
        case "understudy.dev", "v1", ["namespaces", namespace, "endedpods", uid, "log"] if namespace:
            _only(request, "GET")
            return await ended_pods.read_log(state, request, namespace, uid)
        case _:
            return await review_endpoint.answer_review(state, request, group, version, rest)


async def _answer(state: ServerState, request: Request, target: Target) -> Response | StreamedResponse:
    response = await handler_for(request.method, target)(state, request, target)
    warnings = [warning for version, warning in target.served.deprecations if version == target.version]
    return with_warnings(response, warnings) if warnings else response


def target_of(state: ServerState, request: Request) -> Target:
    """Raises a 404 where the path is not that of a resource."""
    parts = resource_parts(request.path)
    target = locate(state.resources, *parts) if parts is not None and parts[2] else None
    if target is None:
        raise no_such_path()
    return target


def _non_resource_path(state: ServerState, request: Request) -> Response:
    if found := non_resource_paths.DOCUMENTS.get(request.path):
        return found(state, request)
    match request.path.split("/"):
        case ["", "apis", group]:
            return non_resource_paths.group(state, group)
        case ["", "openapi", "v3", *rest]:
            return non_resource_paths.openapi_v3(state, "/".join(rest))
        case _:
            raise no_such_path()


def _only(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise not_allowed()
