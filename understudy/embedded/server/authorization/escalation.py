"""Privilege escalation check: users may grant only rights that they have.

Rules of new roles and bindings are compared with those of the user. As in Kubernetes, the verb `escalate` on the role,
or `bind` on the role that a binding names, lifts this.
"""

from collections.abc import Sequence

from understudy.embedded.api.access_rules import Attributes, Rule, rule_of, uncovered
from understudy.embedded.schema.errors import ApiError, bad_request, forbidden
from understudy.embedded.schema.served_resource import Draft
from understudy.embedded.schema.types.rbac import GROUP, ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef
from understudy.embedded.server.authentication.authenticator import User
from understudy.embedded.server.authorization.authorizer import Authorizer
from understudy.embedded.server.http.request_target import Target


def check(authorizer: Authorizer, user: User, target: Target, new: Draft, old: Draft | None = None) -> None:
    """Raises a 403. Rules and subjects that an update does not change are not checked."""
    if user.is_admin or target.served.resource.group != GROUP:
        return
    match new:
        case Role() | ClusterRole():
            _check_role(authorizer, user, target, new, old)
        case RoleBinding() | ClusterRoleBinding():
            _check_binding(authorizer, user, target, new, old)


def _check_role(authorizer: Authorizer, user: User, target: Target, new: Role | ClusterRole, old: Draft | None) -> None:
    if isinstance(old, Role | ClusterRole) and old.rules == new.rules and _aggregation(old) == _aggregation(new):
        return
    resource = target.served.resource
    name = str(new.metadata.name or "")
    escalate = Attributes("escalate", target.namespace, GROUP, resource.plural, "", name)
    if authorizer.decide(user, escalate).allowed:
        return
    wanted = [rule_of(rule) for rule in new.rules or ()]
    if _aggregation(new) and (not isinstance(old, ClusterRole) or _aggregation(old) != _aggregation(new)):
        wanted.append(Rule(frozenset("*"), frozenset("*"), frozenset("*")))  # an aggregated role may receive any rule
    _check_held(authorizer, user, target, name, wanted)


def _aggregation(role: Role | ClusterRole) -> object:
    return role.aggregation_rule or None if isinstance(role, ClusterRole) else None


def _check_binding(
    authorizer: Authorizer, user: User, target: Target, new: RoleBinding | ClusterRoleBinding, old: Draft | None
) -> None:
    if isinstance(old, RoleBinding | ClusterRoleBinding) and old.subjects == new.subjects:
        return
    ref: RoleRef = new.role_ref
    plural = "roles" if ref.kind == "Role" else "clusterroles"
    bind = Attributes("bind", target.namespace, GROUP, plural, "", ref.name)
    if not authorizer.decide(user, bind).allowed:
        wanted = authorizer.roles.rules_of(ref, target.namespace)
        _check_held(authorizer, user, target, str(new.metadata.name or ""), wanted)


def _check_held(authorizer: Authorizer, user: User, target: Target, name: str, wanted: Sequence[Rule]) -> None:
    try:
        missing = uncovered(wanted, authorizer.granted(user, target.namespace))
    except ValueError as problem:
        raise bad_request(str(problem)) from None
    if missing is not None:
        raise _escalates(user, target, name, missing)


def _escalates(user: User, target: Target, name: str, missing: Rule) -> ApiError:
    resource = target.served.resource
    rule = ", ".join(f"{key}: {values}" for key, values in missing.document().items())
    why = f'user "{user.name}" is attempting to grant RBAC permissions not currently held: {{{rule}}}'
    return forbidden(resource.plural, resource.group, name, why)
