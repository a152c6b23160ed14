"""Kinds that are asked and never stored: what may I do, who am I, whose token is this."""

from collections.abc import Sequence

import msgspec

from understudy.embedded.api import reviews
from understudy.embedded.server.answers import Answer
from understudy.embedded.server.authentication import User
from understudy.embedded.server.bodies import read_json
from understudy.embedded.server.calls import Call
from understudy.embedded.server.routes import no_such_path, not_allowed
from understudy.embedded.server.state import State
from understudy.objects.resources import Resource

_encode = msgspec.json.Encoder().encode


async def ask(state: State, call: Call, group: str, version: str, rest: Sequence[str]) -> Answer:
    resource = _asked(group, version, rest)
    if call.method != "POST":
        raise not_allowed()

    def subject_of(token: str) -> User | None:
        return state.tokens.find(token.encode())

    body = await read_json(call)
    return Answer(_encode(reviews.answer(resource, body, call.user, subject_of)), 201)


def _asked(group: str, version: str, rest: Sequence[str]) -> Resource:
    for resource in reviews.REVIEWS:
        scope = ["namespaces", rest[1]] if resource.namespaced and len(rest) == 3 else []
        if (resource.group, resource.version, [*scope, resource.plural]) == (group, version, list(rest)):
            return resource
    raise no_such_path()
