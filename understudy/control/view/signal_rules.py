"""Rules that read the health of a node from its conditions, taints, labels and annotations: a rule and a node into
findings."""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

import msgspec

from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.meta import Condition, seconds
from understudy.objects.nodes import Node, NodeTaint

CONDITION, TAINT, LABEL, ANNOTATION = KINDS = ("condition", "taint", "label", "annotation")
_ONLY_FOR = {
    "status": (CONDITION,),
    "reason": (CONDITION,),
    "message": (CONDITION,),
    "effect": (TAINT,),
    "value": (TAINT, LABEL, ANNOTATION),
    "seconds": (CONDITION, TAINT),
}
_CHOICES = {"status": ("True", "False", "Unknown"), "effect": (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)}
_JUDGED_ELSEWHERE = {"Ready": "notReadyLost", "node.kubernetes.io/not-ready": "notReadyLost"}
_LATEST = 1e11  # in the year 5138; larger numbers are milliseconds, or no times at all


class SignalRule(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True, cache_hash=True
):
    """One row of the table: what is seen on a node, and what it means. `*` in a text stands for any characters."""

    verdict: Verdict  # `healthy`: the signal does not count
    # what is seen: exactly one of these, the type of a condition or the key of the others
    condition: str = ""
    taint: str = ""
    label: str = ""
    annotation: str = ""
    # conditions on it
    status: str = ""  # of a condition; '': True
    reason: str = ""  # of a condition
    message: str = ""  # of a condition
    value: str = ""  # of a taint, label or annotation
    effect: str = ""  # of a taint
    after_creation: float = 0.0  # the rule does not count for nodes that were created less than these seconds ago
    # when a leaving node goes; neither: at any moment
    seconds: float | None = None  # after the condition changed or the taint was added
    time: str = ""  # the label or annotation that has the time; it goes before `seconds`

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise ValueError(problem)

    def _problem(self) -> str:
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) != 1:
            found = f"{' and '.join(given)} stand together" if given else "none of them is there"
            return f"expected one of {', '.join(KINDS)}: {found}"
        for field, kinds in _ONLY_FOR.items():
            if getattr(self, field) not in ("", None) and given[0] not in kinds:
                return f"{field}: only for a {' or '.join(kinds)}; leave it out"
        for field, choices in _CHOICES.items():
            if (text := getattr(self, field)) and text not in choices:
                return f"{field}: {text!r} is none of {', '.join(choices)}"
        for field in ("seconds", "after_creation"):
            if not 0 <= (getattr(self, field) or 0.0) < math.inf:
                return f"{'afterCreation' if field != 'seconds' else field}: expected 0 or more"
        if self.verdict is not Verdict.LEAVING and (self.seconds is not None or self.time):
            return f"{'time' if self.time else 'seconds'}: only for verdict leaving; leave it out"
        if self.verdict is Verdict.HEALTHY and (setting := _JUDGED_ELSEWHERE.get(self.name)):
            return f"{given[0]}: {self.name} always counts; health.{setting} says after which time"
        return ""

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def name(self) -> str:
        return str(getattr(self, self.kind))

    @property
    def announces(self) -> bool:
        """Whether the signal is itself the time of the end: it may be announced long ahead."""
        return bool(self.time) and self.time in (self.label, self.annotation)


class SignalFinding(NamedTuple):
    """What one signal of a node means."""

    rule: SignalRule
    cause: str
    since: float | None
    deadline: float | None = None
    problem: BadObject | None = None  # a time that cannot be read


def signals_on(node: Node, rules: Mapping[str, "RulesOfKind"]) -> Iterator[SignalFinding]:
    """For each condition, taint, label and annotation, the first rule that fits decides."""
    for condition in node.status.conditions:
        for rule in rules[CONDITION].of(condition.type):
            if _fits_condition(rule, condition):
                yield _found(rule, node, _condition_in_words(condition), seconds(condition.last_transition_time))
                break
    for taint in node.spec.taints:
        for rule in rules[TAINT].of(taint.key):
            if _fits_taint(rule, taint):
                yield _found(rule, node, f"taint {taint.key}", seconds(taint.time_added))
                break
    yield from _of_map(LABEL, node.metadata.labels, node, rules[LABEL])
    yield from _of_map(ANNOTATION, node.metadata.annotations, node, rules[ANNOTATION])


def _of_map(kind: str, values: Mapping[str, str], node: Node, rules: "RulesOfKind") -> Iterator[SignalFinding]:
    for name in rules.names_in(values):
        for rule in rules.of(name):
            if _fits(rule.value, values[name]):
                yield _found(rule, node, f"{kind} {name}", None)
                break


def _fits_condition(rule: SignalRule, condition: Condition) -> bool:
    return (
        condition.status == (rule.status or "True")
        and _fits(rule.reason, condition.reason)
        and _fits(rule.message, condition.message)
    )


def _fits_taint(rule: SignalRule, taint: NodeTaint) -> bool:
    return rule.effect in ("", taint.effect) and _fits(rule.value, taint.value)


def _fits(pattern: str, text: str) -> bool:
    return not pattern or pattern == text or ("*" in pattern and fnmatchcase(text, pattern))


def _condition_in_words(condition: Condition) -> str:
    return f"condition {condition.type}={condition.status}" + (f" ({condition.reason})" if condition.reason else "")


def _found(rule: SignalRule, node: Node, cause: str, since: float | None) -> SignalFinding:
    deadline = None if since is None or rule.seconds is None else since + rule.seconds
    try:
        reported = _reported_time(rule, node) if rule.time else None
    except BadObject as error:
        return SignalFinding(rule, cause, since, deadline, error)
    return SignalFinding(rule, cause, since, deadline if reported is None else reported)


def _reported_time(rule: SignalRule, node: Node) -> float | None:
    """Seconds since the epoch, as clouds write them, or a time like that of Kubernetes."""
    for place, values in (("labels", node.metadata.labels), ("annotations", node.metadata.annotations)):
        if rule.time in values:
            text = values[rule.time].strip()
            if (moment := _moment(text)) is not None:
                return moment
            problem = f"{text!r} is not a time; write seconds since 1970, or a time like 2026-01-31T12:00:00Z"
            raise BadObject(node.title, f"metadata.{place}[{rule.time}]", problem)
    return None


def _moment(text: str) -> float | None:
    try:
        moment = float(text)
    except ValueError:
        try:
            written = datetime.fromisoformat(text)
        except ValueError:
            return None
        return None if written.tzinfo is None else written.timestamp()
    return moment if 0 <= moment < _LATEST else None


class RulesOfKind:
    """The rules of one kind, by name and in their order."""

    def __init__(self, rules: Iterable[SignalRule]) -> None:
        self._rules = tuple(rules)
        self._exact = tuple(dict.fromkeys(rule.name for rule in self._rules if "*" not in rule.name))
        self._patterns = tuple(rule.name for rule in self._rules if "*" in rule.name)
        self.of = lru_cache(maxsize=1024)(self._of)  # a cluster has few types of conditions, and few taints

    def names_in(self, values: Mapping[str, str]) -> list[str]:
        """The keys that a rule may fit."""
        if not self._patterns:
            return [name for name in self._exact if name in values]
        return [name for name in values if self.of(name)]

    def _of(self, name: str) -> tuple[SignalRule, ...]:
        return tuple(rule for rule in self._rules if _fits(rule.name, name))


def by_kind(rules: Iterable[SignalRule]) -> dict[str, RulesOfKind]:
    kept = tuple(rules)
    return {kind: RulesOfKind(rule for rule in kept if rule.kind == kind) for kind in KINDS}
