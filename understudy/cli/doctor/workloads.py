"""Operators whose job kinds the cluster serves, and which scheduler places which pods."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from understudy.cli.doctor.facts import ClusterFacts
from understudy.cli.doctor.findings import Finding, care, counted, named, note, well, wrong
from understudy.cli.doctor.installation import leads
from understudy.kinds.registry import KINDS
from understudy.objects.pods import DEFAULT_SCHEDULER


class Operator(msgspec.Struct, frozen=True):
    name: str
    group: str
    plurals: tuple[str, ...]
    versions: tuple[str, ...] = ()  # those that Understudy reads; none: it reads nothing but labels and annotations
    use: str = ""


def _of_kinds() -> Iterator[Operator]:
    """The operators of the job kinds, each with all kinds that it serves."""
    for name in dict.fromkeys(kind.operator for kind in KINDS.values() if kind.operator):
        served = [version for kind in KINDS.values() if kind.operator == name for version in kind.versions]
        plurals, versions = dict.fromkeys(one.plural for one in served), dict.fromkeys(one.version for one in served)
        yield Operator(name, served[0].group, tuple(plurals), tuple(versions))


OPERATORS = (
    *_of_kinds(),
    Operator("Kueue", "kueue.x-k8s.io", ("workloads",), use="the suspend of the jobs that it queues is left to it"),
    Operator("Volcano", "scheduling.volcano.sh", ("podgroups",), use="its groups define gangs"),
    Operator("scheduler-plugins", "scheduling.x-k8s.io", ("podgroups",), use="its groups define gangs"),
    Operator("Kubernetes' own groups", "scheduling.k8s.io", ("podgroups",), use="they define gangs"),
)


def check_operators(facts: ClusterFacts) -> list[Finding]:
    found, absent = [], []
    for operator in OPERATORS:
        plurals = [plural for plural in operator.plurals if facts.serves(operator.group, plural)]
        if plurals:
            found.append(_found(operator, plurals, facts))
        else:
            absent.append(operator.name)
    if not facts.embedded and absent:
        found.append(note(f"not there: {', '.join(absent)}"))
    return found


def _found(operator: Operator, plurals: list[str], facts: ClusterFacts) -> Finding:
    versions = sorted({version for plural in plurals for version in _versions(operator, plural, facts)})
    text = f"{operator.name}: {', '.join(plurals)} ({', '.join(versions)})"
    if not operator.versions:
        return well(f"{text}; {operator.use}")
    unread = [plural for plural in plurals if not _read(operator, _versions(operator, plural, facts))]
    if unread:
        fix = f"Understudy reads {', '.join(operator.versions)}: use a release of either that agrees with the other"
        return care(f"{text}: {', '.join(unread)} cannot be read", fix)
    return well(text)


def _versions(operator: Operator, plural: str, facts: ClusterFacts) -> list[str]:
    return [version for version, plurals in facts.served.get(operator.group, {}).items() if plural in plurals]


def _read(operator: Operator, versions: Iterable[str]) -> bool:
    return any(version in operator.versions for version in versions)


QUEUE = "kueue.x-k8s.io/queue-name"


def check_pods(facts: ClusterFacts) -> list[Finding]:
    if facts.pods is None:
        return [care("pods may not be looked at", "ask as a user who may list them")]
    return [*_pods(facts), *_kueue(facts)]


def _pods(facts: ClusterFacts) -> list[Finding]:
    live = [pod for pod in facts.pods or () if not pod.finished]
    if facts.embedded:
        unseated = sum(not pod.spec.node_name for pod in live)
        return [well(f"{counted(len(live), 'pod')}, {unseated} waiting for a seat")]
    every = Counter(pod.spec.scheduler_name or DEFAULT_SCHEDULER for pod in live)
    waiting = Counter(pod.spec.scheduler_name or DEFAULT_SCHEDULER for pod in live if not pod.spec.node_name)
    ours = facts.request.scheduler
    found = []
    for name in sorted({ours, *every}, key=lambda name: (name != ours, name)):
        text = f"{name}: {counted(every[name], 'pod')}, {waiting[name]} waiting for a seat"
        if name == ours and waiting[name] and not leads(facts):
            found.append(wrong(f"{text}, and no Understudy leads that would seat them", "see `Understudy` above"))
        else:
            found.append(well(text) if name == ours else note(text))
    return found


def _kueue(facts: ClusterFacts) -> list[Finding]:
    queued = [one for one in facts.jobs or () if QUEUE in (one.document["metadata"].get("labels") or {})]
    if not queued:
        return []
    names = named(sorted(f"{one.namespace}/{one.name}" for one in queued))
    text = f"{counted(len(queued), 'job')} queued by Kueue: {names}"
    if not facts.serves("kueue.x-k8s.io", "workloads"):
        return [care(f"{text}, which is not there", "install Kueue, or take the label off: they never start")]
    return [note(f"{text}; it alone lets them start, Understudy seats their pods")]
