"""Impersonation (`kubectl --as`): headers into another user, for users who may impersonate."""

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from understudy.embedded.api.access_rules import Attributes
from understudy.embedded.schema.errors import bad_request
from understudy.embedded.server.authentication.authenticator import AUTHENTICATED, User
from understudy.embedded.server.authentication.service_account_tokens import PREFIX, account_groups
from understudy.embedded.server.authorization.authorizer import Authorizer
from understudy.embedded.server.authorization.request_attributes import forbidden_request

IMPERSONATED = b"impersonate-user"
_GROUP, _UID, _EXTRA = b"impersonate-group", b"impersonate-uid", b"impersonate-extra-"
WITH_IMPERSONATION = frozenset({_GROUP, _UID})
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(authorizer: Authorizer, user: User, headers: Iterable[tuple[bytes, bytes]]) -> User:
    """Raises a 403 where the user may not impersonate, and a 400 where the headers name no user."""
    given = [(name, value.decode("latin-1")) for name, value in headers]
    name = next((value for key, value in given if key == IMPERSONATED), "")
    if not name:
        raise bad_request("impersonation of groups, uids and extras needs the header Impersonate-User")
    groups = tuple(value for key, value in given if key == _GROUP)
    uid = next((value for key, value in given if key == _UID), "")
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in given:
        if key.startswith(_EXTRA):
            what = unquote(key[len(_EXTRA) :].decode("latin-1"))
            extra[what] = (*extra.get(what, ()), value)
    wanted = User(name, groups, uid, extra)
    for asked in _rights(wanted):
        if not authorizer.decide(user, asked).allowed:
            raise forbidden_request(user, asked)
    implied = account_groups(_account(name)[0]) if _account(name)[1] and not groups else (AUTHENTICATED,)
    return User(name, tuple(dict.fromkeys([*groups, *implied])), uid, extra)


def _account(name: str) -> tuple[str, str]:
    """Namespace and name of a service account; empty for other users."""
    namespace, _, account = name.removeprefix(PREFIX).partition(":") if name.startswith(PREFIX) else ("", "", "")
    return namespace, account


def _rights(wanted: User) -> Iterator[Attributes]:
    """The rights that the real user needs."""
    namespace, account = _account(wanted.name)
    if account:
        yield Attributes("impersonate", namespace, resource="serviceaccounts", name=account)
    else:
        yield Attributes("impersonate", resource="users", name=wanted.name)
    for group in wanted.groups:
        yield Attributes("impersonate", resource="groups", name=group)
    if wanted.uid:
        yield Attributes("impersonate", group=_AUTHENTICATION, resource="uids", name=wanted.uid)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes("impersonate", group=_AUTHENTICATION, resource="userextras", subresource=key, name=value)
