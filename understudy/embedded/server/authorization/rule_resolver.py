"""The rules that apply to a user in a namespace, from the stored roles and bindings, cached until one of them
changes."""

from collections.abc import Iterable, Iterator

import msgspec

from understudy.embedded.api.access_rules import Rule, rule_of
from understudy.embedded.schema.types.rbac import PolicyRule, RoleRef, Subject
from understudy.embedded.schema.types.values import decode_hook
from understudy.embedded.server.authentication.service_account_tokens import account_user
from understudy.embedded.store.records import Key
from understudy.embedded.store.store import Store
from understudy.objects.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES

RBAC = (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)
_MOST_CACHED = 10_000
Revisions = tuple[int, ...]


class _Role(msgspec.Struct, frozen=True):
    rules: tuple[PolicyRule, ...] = ()


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: RoleRef
    subjects: tuple[Subject, ...] = ()


_read_role = msgspec.json.Decoder(_Role, dec_hook=decode_hook).decode
_read_binding = msgspec.json.Decoder(_Binding, dec_hook=decode_hook).decode


class Principal(msgspec.Struct, frozen=True, gc=False):
    """A user as the subjects of bindings name one."""

    name: str
    groups: frozenset[str]


class RuleResolver:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._revisions: Revisions = ()
        self._bindings: dict[str, list[_Binding]] = {}  # by namespace; '': cluster-wide
        self._rules: dict[tuple[str, str, str], tuple[Rule, ...]] = {}  # of roles, by resource, namespace and name
        self._found: dict[tuple[Principal, str], tuple[Rule, ...]] = {}

    def rules_for(self, principal: Principal, namespace: str) -> tuple[Rule, ...]:
        """The rules for requests in the namespace; with '' for cluster-wide requests."""
        self._refresh()
        key = (principal, namespace)
        if key not in self._found:
            if len(self._found) >= _MOST_CACHED:
                self._found.clear()
            self._found[key] = tuple(dict.fromkeys(self._collect(principal, namespace)))
        return self._found[key]

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...]:
        """The rules of the role that a binding in this namespace names; none where the role does not exist."""
        self._refresh()
        resource, place = (ROLES, namespace) if ref.kind == "Role" else (CLUSTER_ROLES, "")
        key = (resource.key, place, ref.name)
        if key not in self._rules:
            record = self._store.get(Key(*key))
            given = _read_role(record.body).rules if record is not None else ()
            self._rules[key] = tuple(map(rule_of, given))
        return self._rules[key]

    def _collect(self, principal: Principal, namespace: str) -> Iterator[Rule]:
        for place in dict.fromkeys(("", namespace)):
            for binding in self._bindings.get(place, ()):
                if any(_is_subject(principal, subject, place) for subject in binding.subjects):
                    yield from self.rules_of(binding.role_ref, place)

    def _refresh(self) -> None:
        """Reads durable changes only: an acknowledged grant applies, and an acknowledged removal does too."""
        revisions = tuple([self._store.last_change(resource.key) for resource in RBAC])
        if revisions == self._revisions:
            return
        self._rules, self._found, self._bindings = {}, {}, {}
        for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            for record in self._store.list(resource.key):
                self._bindings.setdefault(record.key.namespace, []).append(_read_binding(record.body))
        self._revisions = revisions


def principal(name: str, groups: Iterable[str]) -> Principal:
    return Principal(name, frozenset(groups))


def _is_subject(one: Principal, subject: Subject, namespace: str) -> bool:
    match subject.kind:
        case "User":
            return subject.name == one.name
        case "Group":
            return subject.name in one.groups
        case "ServiceAccount":
            return one.name == account_user(subject.namespace or namespace, subject.name)
        case _:
            return False
