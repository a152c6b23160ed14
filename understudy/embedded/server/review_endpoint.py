"""Reviews, which are answered and not stored: of access, of the user's own identity, of tokens."""

from collections.abc import Collection, Sequence

import msgspec

from understudy.embedded.api import reviews
from understudy.embedded.api.access_rules import Attributes, Decision, Rule
from understudy.embedded.schema.errors import no_such_path
from understudy.embedded.server.authentication.authenticator import User
from understudy.embedded.server.authentication.service_account_tokens import AUDIENCES
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_json
from understudy.embedded.server.http.request_target import not_allowed
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.registry.state import ServerState
from understudy.objects.resources import Resource

_encode = msgspec.json.Encoder().encode


async def answer_review(
    state: ServerState, request: Request, group: str, version: str, rest: Sequence[str]
) -> Response:
    resource, namespace = _review_at(group, version, rest)
    if request.method != "POST":
        raise not_allowed()
    asked = reviews.Asked(resource, namespace, await read_json(request), request.user)
    return Response(_encode(reviews.answer(asked, _ServerAuthority(state, request.user))), 201)


class _ServerAuthority:
    def __init__(self, state: ServerState, user: User) -> None:
        self._state = state
        self._user = user

    def asking(self, attributes: Attributes) -> Decision:
        return self._state.authorizer.decide(self._user, attributes)

    def about(self, name: str, groups: Sequence[str], attributes: Attributes) -> Decision:
        """A user with a static token also has the groups of that token."""
        known = self._state.authenticator.static.groups_of(name)
        return self._state.authorizer.decide_about(name, (*groups, *known), attributes)

    def rules(self, namespace: str) -> Sequence[Rule]:
        return self._state.authorizer.rules(self._user, namespace)

    def owner_of(self, token: str, audiences: Collection[str]) -> tuple[User | None, Sequence[str]]:
        wanted = tuple(audiences) or AUDIENCES
        own = self._state.authenticator.static.find(token.encode())
        if own is not None:
            shared = [one for one in wanted if one in AUDIENCES]
            return (own, shared) if shared else (None, ())
        return self._state.accounts.reviewed(token.encode(), wanted)


def _review_at(group: str, version: str, rest: Sequence[str]) -> tuple[Resource, str]:
    """The kind of review, and the namespace of its path."""
    for resource in reviews.REVIEWS:
        namespace = rest[1] if resource.namespaced and len(rest) == 3 else ""
        scope = ["namespaces", namespace] if namespace else []
        if (resource.group, resource.version, [*scope, resource.plural]) == (group, version, list(rest)):
            return resource, namespace
    raise no_such_path()
