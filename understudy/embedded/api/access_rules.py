"""RBAC as values: what a request asks for, what a rule allows, and whether rules cover other rules.

All fields mean what they mean in Kubernetes' RBAC. Nothing here reads the store.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from understudy.embedded.schema.types.rbac import PolicyRule

ANY = "*"
MOST_COMBINATIONS = 20_000  # of verbs, groups, resources and names in one role that is checked for escalation


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """What a request asks for. A request that is about no resource has only a verb and a path."""

    verb: str
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Rule(msgspec.Struct, frozen=True, gc=False):
    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()  # none: all
    paths: frozenset[str] = frozenset()

    def allows(self, asked: Attributes) -> bool:
        if not _has(self.verbs, asked.verb):
            return False
        if asked.path:
            return any(_path_matches(path, asked.path) for path in self.paths)
        return (
            _has(self.groups, asked.group)
            and _resource_matches(self.resources, asked)
            and (not self.names or asked.name in self.names)
        )

    def document(self) -> dict[str, list[str]]:
        """For the status of a review. A rule has paths or resources, never both."""
        if self.paths:
            return {"verbs": sorted(self.verbs), "nonResourceURLs": sorted(self.paths)}
        document = {
            "verbs": sorted(self.verbs),
            "apiGroups": sorted(self.groups),
            "resources": sorted(self.resources),
        }
        return document | ({"resourceNames": sorted(self.names)} if self.names else {})


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Whether a request is allowed, and why."""

    allowed: bool
    reason: str = ""
    reports_only: bool = False  # the only allowed change is the report of a checkpoint


def rule_of(given: PolicyRule) -> Rule:
    return Rule(
        verbs=frozenset(given.verbs),
        groups=frozenset(given.api_groups or ()),
        resources=frozenset(given.resources or ()),
        names=frozenset(given.resource_names or ()),
        paths=frozenset(given.non_resource_urls or ()),
    )


def uncovered(wanted: Iterable[Rule], held: Sequence[Rule]) -> Rule | None:
    """The first wanted rule with a right that no held rule has; None where all are covered. Raises ValueError for a
    rule with too many combinations to compare."""
    for rule in wanted:
        if not all(any(_contains(one, right) for one in held) for right in _single_rights(rule)):
            return rule
    return None


def _single_rights(rule: Rule) -> Iterator[Attributes]:
    """Every single right of a rule. Only a wildcard covers a wildcard."""
    names = rule.names or {""}
    if len(rule.verbs) * (len(rule.groups) * len(rule.resources) * len(names) + len(rule.paths)) > MOST_COMBINATIONS:
        raise ValueError("a rule names too many combinations of verbs, groups, resources and names to be compared")
    for verb, group, resource, name in itertools.product(rule.verbs, rule.groups, rule.resources, names):
        plain, _, sub = resource.partition("/")
        yield Attributes(verb, "", group, plain, sub, name)
    for verb, path in itertools.product(rule.verbs, rule.paths):
        yield Attributes(verb, path=path)


def _contains(rule: Rule, right: Attributes) -> bool:
    """An right without a name is about all names."""
    return rule.allows(right) and not (rule.names and not right.name)


def _has(values: frozenset[str], wanted: str) -> bool:
    return wanted in values or ANY in values


def _resource_matches(resources: frozenset[str], asked: Attributes) -> bool:
    if ANY in resources or asked.full_resource in resources:
        return True
    return bool(asked.subresource) and f"{ANY}/{asked.subresource}" in resources


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in (ANY, path) or (pattern.endswith(ANY) and path.startswith(pattern[:-1]))
