"""Which function answers which method where: the API as tables."""

from collections.abc import Awaitable, Callable, Mapping

from understudy.embedded.api.errors import ApiError
from understudy.embedded.server import (
    binding,
    creating,
    deleting,
    evicting,
    executing,
    logs,
    namespaces,
    patching,
    reading,
    tokens,
    updating,
)
from understudy.embedded.server.answers import Answer, Stream
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.routes import no_such_path, not_allowed
from understudy.embedded.server.state import State

Verb = Callable[[State, Call, Target], Awaitable[Answer | Stream]]
Verbs = Mapping[str, Verb]

COLLECTION: Verbs = {
    "GET": reading.list_or_watch,
    "POST": creating.create,
    "DELETE": deleting.delete_collection,
}
OBJECT: Verbs = {
    "GET": reading.get,
    "PUT": updating.replace,
    "PATCH": patching.patch,
    "DELETE": deleting.delete,
}
STATUS: Verbs = {
    "GET": reading.get,
    "PUT": updating.replace,
    "PATCH": patching.patch,
}
SUBRESOURCES: Mapping[tuple[str, str], Verbs] = {
    ("pods", "binding"): {"POST": binding.bind},
    ("pods", "eviction"): {"POST": evicting.evict},
    ("pods", "log"): {"GET": logs.read_log},
    ("pods", "exec"): {"GET": executing.without_upgrade, "POST": executing.without_upgrade},
    ("serviceaccounts", "token"): {"POST": tokens.create_token},
    ("namespaces", "finalize"): {"PUT": namespaces.finalize},
}

# Parts of a pod that Kubernetes has and this server does not, with a way around.
LEFT_OUT: Mapping[str, str] = {
    "attach": "use kubectl logs -f, or kubectl exec",
    "portforward": "pods run on this machine: use their ports as they are",
    "proxy": "pods run on this machine: use their ports as they are",
    "ephemeralcontainers": "use kubectl exec",
}


def verb_for(method: str, target: Target) -> Verb:
    verbs = _verbs(target)
    found = verbs.get("GET" if method == "HEAD" else method)
    if found is None:
        raise not_allowed()
    return found


def _verbs(target: Target) -> Verbs:
    if not target.name:
        return COLLECTION
    if not target.sub:
        return OBJECT
    if target.sub not in target.served.subresources:
        raise _left_out(target)
    if target.sub == "status":
        return STATUS
    return SUBRESOURCES.get((target.served.resource.key, target.sub), {})


def _left_out(target: Target) -> ApiError:
    if target.served.resource.key == "pods" and target.sub in LEFT_OUT:
        message = f"pods/{target.sub} is not offered by an embedded cluster; {LEFT_OUT[target.sub]}"
        return ApiError(405, "MethodNotAllowed", message)
    return no_such_path()
