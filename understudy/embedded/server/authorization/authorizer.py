"""Authorizes requests: administrators may do everything, roles grant rights to others, a pod may report on its own
job."""

from collections.abc import Collection

import msgspec

from understudy.embedded.api.access_rules import Attributes, Decision, Rule
from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.server.authentication.authenticator import ADMINISTRATORS, AUTHENTICATED, User
from understudy.embedded.server.authorization.pod_authorizer import PodAuthorizer, check_checkpoint_report
from understudy.embedded.server.authorization.request_attributes import attributes_of, forbidden_request
from understudy.embedded.server.authorization.rule_resolver import Principal, RuleResolver, principal
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import media_type
from understudy.embedded.store.records import Key
from understudy.embedded.store.store import Store
from understudy.ports import PatchForm

_EVERYTHING = (
    Rule(frozenset("*"), frozenset("*"), frozenset("*")),
    Rule(frozenset("*"), paths=frozenset("*")),
)


class Authorizer:
    def __init__(self, store: Store, registry: ServedResources) -> None:
        self._store = store
        self.roles = RuleResolver(store)
        self._own_pod = PodAuthorizer(store, registry)

    def decide(self, user: User, asked: Attributes) -> Decision:
        if user.is_admin:
            return Decision(True, f"members of {ADMINISTRATORS} may do everything")
        by_role = self._by_role(_who(user), asked)
        return by_role if by_role.allowed else self._own_pod.decide(user, asked)

    def decide_about(self, name: str, groups: Collection[str], asked: Attributes) -> Decision:
        """About another user, who is in exactly these groups."""
        if ADMINISTRATORS in groups:
            return Decision(True, f"members of {ADMINISTRATORS} may do everything")
        return self._by_role(principal(name, groups), asked)

    def _by_role(self, one: Principal, asked: Attributes) -> Decision:
        if any(rule.allows(asked) for rule in self.roles.rules_for(one, asked.namespace)):
            return Decision(True, "RBAC: a role that is bound to the user allows it")
        return Decision(False)

    def rules(self, user: User, namespace: str) -> tuple[Rule, ...]:
        """All rules that allow the user something in the namespace."""
        if user.is_admin:
            return _EVERYTHING
        return (*self.roles.rules_for(_who(user), namespace), *self._own_pod.rules(user, namespace))

    def granted(self, user: User, namespace: str) -> tuple[Rule, ...]:
        """The rules from roles, which the user may grant to others. The rights of a pod on its own job may not be
        granted."""
        return self.roles.rules_for(_who(user), namespace)

    async def check(self, request: Request) -> Request:
        """The request that may be carried out. Raises a 403."""
        asked = attributes_of(request)
        decision = self.decide(request.user, asked)
        if not decision.allowed:
            raise forbidden_request(request.user, asked)
        if decision.reports_only:
            return await check_checkpoint_report(request, asked)
        if self._creates(request, asked):
            creation = msgspec.structs.replace(asked, verb="create")
            if not self.decide(request.user, creation).allowed:
                raise forbidden_request(request.user, creation)
        return request

    def _creates(self, request: Request, asked: Attributes) -> bool:
        """Whether a server-side apply would create the object."""
        if asked.verb != "patch" or media_type(request.headers.get(b"content-type", b"")) != PatchForm.APPLY:
            return False
        resource = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
        return not asked.subresource and self._store.newest(Key(resource, asked.namespace, asked.name)) is None


def _who(user: User) -> Principal:
    """Every user here is authenticated."""
    return principal(user.name, (*user.groups, AUTHENTICATED))
