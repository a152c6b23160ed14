"""Kubernetes' selectors and affinity terms as the model's: labels in, conditions out."""

from collections.abc import Mapping

from understudy.model.gangs import SpreadConstraint
from understudy.model.selectors import NodeTerm, Requirement, Selector
from understudy.objects.meta import Expression, LabelSelector
from understudy.objects.pods import NodeSelector, NodeSelectorTerm, TopologySpreadConstraint


def selector_of(selector: LabelSelector | None, extra: tuple[Requirement, ...] = ()) -> Selector | None:
    """No selector selects nothing; an empty one selects everything."""
    if selector is None:
        return None
    labels = tuple(Requirement(key, "In", (value,)) for key, value in sorted(selector.match_labels.items()))
    found = labels + requirements_of(selector.match_expressions)
    return Selector(found + tuple(requirement for requirement in extra if requirement not in found))


def requirements_of(expressions: tuple[Expression, ...]) -> tuple[Requirement, ...]:
    return tuple(Requirement(e.key, e.operator, e.values) for e in expressions)


def node_term_of(term: NodeSelectorTerm) -> NodeTerm:
    return NodeTerm(requirements_of(term.match_expressions), requirements_of(term.match_fields))


def node_terms_of(selector: NodeSelector) -> tuple[NodeTerm, ...]:
    return tuple(node_term_of(term) for term in selector.node_selector_terms)


def label_key_requirements(keys: tuple[str, ...], operator: str, labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """matchLabelKeys and mismatchLabelKeys: the pod's own values, for the keys it has."""
    return tuple(Requirement(key, operator, (labels[key],)) for key in keys if key in labels)


def spread_of(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadConstraint:
    return SpreadConstraint(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        hard=constraint.when_unsatisfiable == "DoNotSchedule",
        selector=selector_of(
            constraint.label_selector, label_key_requirements(constraint.match_label_keys, "In", labels)
        ),
        min_domains=constraint.min_domains,
        honor_affinity=constraint.node_affinity_policy == "Honor",
        honor_taints=constraint.node_taints_policy == "Honor",
    )
