"""From a path and a method to the one that answers: an object's verb, a document, a question, a seating."""

from understudy.embedded.server import binding, departing, documents, questions
from understudy.embedded.server.answers import Answer, Stream
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.routes import locate, no_such_path, not_allowed, resource_parts
from understudy.embedded.server.state import State
from understudy.embedded.server.verbs import verb_for


async def dispatch(state: State, call: Call) -> Answer | Stream:
    if not call.user.is_admin:
        call = await state.authorizer.check(call)
    parts = resource_parts(call.path)
    if parts is None:
        _only(call, "GET", "HEAD")
        return _document(state, call)
    group, version, rest = parts
    if rest:
        target = locate(state.registry, group, version, rest)
        if target is not None:
            return await verb_for(call.method, target)(state, call, target)
    match group, version, rest:
        case _, _, []:
            _only(call, "GET", "HEAD")
            return documents.group_version(state, group, version)
        case "understudy.dev", "v1", ["namespaces", namespace, "seatings"] if namespace:
            _only(call, "POST")
            return await binding.seat_gang(state, call, namespace)
        case "understudy.dev", "v1", ["namespaces", namespace, "departures"] if namespace:
            _only(call, "POST")
            return await departing.depart(state, call, namespace)
        case _:
            return await questions.ask(state, call, group, version, rest)


def target_of(state: State, call: Call) -> Target:
    """Where a path must be that of a resource."""
    parts = resource_parts(call.path)
    target = locate(state.registry, *parts) if parts is not None and parts[2] else None
    if target is None:
        raise no_such_path()
    return target


def _document(state: State, call: Call) -> Answer:
    if found := documents.DOCUMENTS.get(call.path):
        return found(state, call)
    match call.path.split("/"):
        case ["", "apis", group]:
            return documents.group(state, group)
        case ["", "openapi", "v3", *rest]:
            return documents.openapi_v3(state, "/".join(rest))
        case _:
            raise no_such_path()


def _only(call: Call, *methods: str) -> None:
    if call.method not in methods:
        raise not_allowed()
