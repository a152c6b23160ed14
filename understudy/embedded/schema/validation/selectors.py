"""Checks of label and node selectors, affinity, tolerations and topology spread."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.meta import LabelSelector, LabelSelectorRequirement
from understudy.embedded.schema.types.scheduling import (
    Affinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Toleration,
    TopologySpreadConstraint,
)
from understudy.embedded.schema.types.values import Maybe
from understudy.embedded.schema.validation import metadata, names

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def label_selector(selector: Maybe[LabelSelector], field: str) -> Iterator[Cause]:
    if selector is UNSET:
        return
    if selector.match_labels:
        yield from metadata.labels(selector.match_labels, child(field, "matchLabels"))
    for i, requirement in enumerate(selector.match_expressions or ()):
        yield from _requirement(requirement, member(child(field, "matchExpressions"), i))


def _requirement(requirement: LabelSelectorRequirement | NodeSelectorRequirement, field: str) -> Iterator[Cause]:
    values = requirement.values or []
    match requirement.operator:
        case "In" | "NotIn" if not values:
            yield causes.required(child(field, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist" if values:
            yield causes.not_allowed(
                child(field, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
        case "Gt" | "Lt" if len(values) != 1:
            yield causes.required(
                child(field, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
    if problem := names.qualified(requirement.key):
        yield causes.bad_value(child(field, "key"), requirement.key, problem)


def affinity(given: Affinity, field: str) -> Iterator[Cause]:
    if node := given.node_affinity:
        where = child(field, "nodeAffinity")
        if node.required_during_scheduling_ignored_during_execution is not UNSET:
            yield from node_selector(node.required_during_scheduling_ignored_during_execution, child(where, _REQUIRED))
        for i, preferred in enumerate(node.preferred_during_scheduling_ignored_during_execution or ()):
            yield from _node_term(preferred.preference, f"{where}.{_PREFERRED}[{i}].preference")
    if given.pod_affinity:
        yield from _pod_affinity(given.pod_affinity, child(field, "podAffinity"))
    if given.pod_anti_affinity:
        yield from _pod_affinity(given.pod_anti_affinity, child(field, "podAntiAffinity"))


def node_selector(selector: NodeSelector, field: str) -> Iterator[Cause]:
    for i, term in enumerate(selector.node_selector_terms):
        yield from _node_term(term, member(child(field, "nodeSelectorTerms"), i))


def _node_term(term: NodeSelectorTerm, field: str) -> Iterator[Cause]:
    for i, requirement in enumerate(term.match_expressions or ()):
        yield from _requirement(requirement, member(child(field, "matchExpressions"), i))
    for i, requirement in enumerate(term.match_fields or ()):
        where = member(child(field, "matchFields"), i)
        if requirement.key != "metadata.name":
            yield causes.bad_value(child(where, "key"), requirement.key, "not a valid field selector key")
        elif requirement.operator not in ("In", "NotIn"):
            yield causes.bad_value(child(where, "operator"), requirement.operator, "not a valid selector operator")
        elif len(requirement.values or ()) != 1:
            yield causes.required(child(where, "values"), "must be only one value when `operator` is 'In' or 'NotIn'")


def _pod_affinity(given: PodAffinity | PodAntiAffinity, field: str) -> Iterator[Cause]:
    for i, term in enumerate(given.required_during_scheduling_ignored_during_execution or ()):
        yield from _pod_term(term, f"{field}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(given.preferred_during_scheduling_ignored_during_execution or ()):
        yield from _pod_term(weighted.pod_affinity_term, f"{field}.{_PREFERRED}[{i}].podAffinityTerm")


def _pod_term(term: PodAffinityTerm, field: str) -> Iterator[Cause]:
    yield from label_selector(term.label_selector, child(field, "labelSelector"))
    yield from label_selector(term.namespace_selector, child(field, "namespaceSelector"))
    if problem := names.qualified(term.topology_key):
        yield causes.bad_value(child(field, "topologyKey"), term.topology_key, problem)
    for i, namespace in enumerate(term.namespaces or ()):
        if problem := names.label(namespace):
            yield causes.bad_value(member(child(field, "namespaces"), i), namespace, problem)


def tolerations(given: Sequence[Toleration], field: str) -> Iterator[Cause]:
    for i, toleration in enumerate(given):
        where = member(field, i)
        if toleration.key and (problem := names.qualified(toleration.key)):
            yield causes.bad_value(child(where, "key"), toleration.key, problem)
        if not toleration.key and toleration.operator != "Exists":
            yield causes.bad_value(
                child(where, "operator"),
                toleration.operator or "",
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        if toleration.toleration_seconds is not UNSET and toleration.effect != "NoExecute":
            yield causes.bad_value(
                child(where, "effect"),
                toleration.effect or "",
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        if toleration.operator == "Exists" and toleration.value:
            yield causes.bad_value(
                child(where, "operator"), toleration.value, "value must be empty when `operator` is 'Exists'"
            )
        elif toleration.value and (problem := names.label_value(toleration.value)):
            yield causes.bad_value(child(where, "operator"), toleration.value, problem)


def spreading(given: Sequence[TopologySpreadConstraint], field: str) -> Iterator[Cause]:
    seen = set()
    for i, constraint in enumerate(given):
        where = member(field, i)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield causes.duplicate(where, f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)
        if problem := names.qualified(constraint.topology_key):
            yield causes.bad_value(child(where, "topologyKey"), constraint.topology_key, problem)
        if constraint.min_domains is not UNSET and constraint.when_unsatisfiable != "DoNotSchedule":
            yield causes.bad_value(
                child(where, "minDomains"),
                constraint.min_domains,
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            )
        yield from label_selector(constraint.label_selector, child(where, "labelSelector"))
