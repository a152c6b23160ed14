"""A request's method and path into Kubernetes' authorization attributes, and the message of a refusal."""

import re
from http import HTTPStatus

from understudy.embedded.api.access_rules import Attributes
from understudy.embedded.schema.errors import ApiError, Details
from understudy.embedded.server.authentication.authenticator import User
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import resource_parts, scoped

_OF_OBJECTS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_COLLECTIONS = {"GET": "list", "HEAD": "list", "DELETE": "deletecollection"}
_CONNECTING = ("exec", "attach", "portforward")  # a WebSocket begins as a GET, but needs the same right as a POST
_BY_NAME = re.compile(r"(?:^|,)metadata\.name==?([^,!=]+)(?:,|$)")


def attributes_of(request: Request) -> Attributes:
    """A request that is about no resource has only a verb and a path. Paths are split by the function that also routes
    them."""
    parts = resource_parts(request.path)
    if parts is None or not parts[2]:
        return Attributes(request.method.lower(), path=request.path or "/")
    group, _, rest = parts
    namespace, rest = scoped(rest)
    resource, name, sub = (*rest, "", "", "")[:3]
    if resource == "namespaces" and not group:
        namespace = name
    return Attributes(
        verb=_verb(request, name, sub),
        namespace=namespace or "",
        group=group,
        resource=resource,
        subresource=sub,
        name=name or _selected_name(request),
    )


def _verb(request: Request, name: str, sub: str) -> str:
    if sub in _CONNECTING:
        return "create"
    if name:
        return _OF_OBJECTS.get(request.method, request.method.lower())
    if request.method in ("GET", "HEAD") and request.flag("watch"):
        return "watch"
    return _OF_COLLECTIONS.get(request.method) or _OF_OBJECTS.get(request.method, request.method.lower())


def _selected_name(request: Request) -> str:
    """The name in the field selector of a list, watch or delete, which a rule with resourceNames may allow."""
    if request.method not in ("GET", "HEAD", "DELETE"):
        return ""
    found = _BY_NAME.search(request.query.get("fieldSelector", ""))
    return found[1] if found else ""


def forbidden_request(user: User, asked: Attributes, reason: str = "") -> ApiError:
    because = f": {reason}" if reason else ""
    if asked.path:
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"{because}'
        return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message)
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    kind = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    named = f'{kind} "{asked.name}"' if asked.name else kind
    message = (
        f'{named} is forbidden: User "{user.name}" cannot {asked.verb} resource "{asked.full_resource}" '
        f'in API group "{asked.group}" {where}{because}'
    )
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message, Details(asked.name, asked.group, asked.resource))
