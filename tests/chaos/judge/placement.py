"""Where and when pods get seats: not in a domain that another island has to itself, not before their claims exist."""

from collections.abc import Iterator, Mapping

from bench.hotswap.replay import GangReplay, PodState
from tests.chaos.judge.case import Case, Violation

ENDED = ("Succeeded", "Failed")


def domains_are_exclusive(case: Case, _found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """Each seat, when it is given, against all that are taken: pods on their way out still have theirs, pods on nodes
    that were given up have none."""
    domain_of = {node.name: node.domain for node in case.history.nodes if node.domain}
    seats: dict[str, PodState] = {}
    for pod in sorted(case.history.pods, key=lambda one: one.revision):
        before = seats.pop(pod.uid, None)
        if pod.gone or not pod.node or pod.phase in ENDED:
            continue
        if before is None and pod.gang in case.submitted:
            yield from _clashes(case, pod, seats, domain_of)
        seats[pod.uid] = pod


def _clashes(
    case: Case, pod: PodState, seats: Mapping[str, PodState], domain_of: Mapping[str, str]
) -> Iterator[Violation]:
    domain = domain_of.get(pod.node, "")
    for other in seats.values():
        kind = _clash(case, pod, other, same_domain=domain_of.get(other.node, "") == domain)
        if not kind or case.blind(other.revision, pod.revision) or case.is_down(other.node, pod.revision):
            continue
        one, two = (f"{_of(case, each)} on {each.node}" for each in (pod, other))
        where = f"in {domain}" if kind == "domain_shared" else "in another domain"
        at = case.clock.not_after(pod.revision)
        yield Violation(kind, f"{one} got a seat; {two} had one {where}", at, (pod.gang, other.gang))


def _clash(case: Case, pod: PodState, other: PodState, same_domain: bool) -> str:
    ours, theirs = (case.submitted.get(gang) for gang in (pod.gang, other.gang))
    if ours is None or theirs is None or not (ours.workload.exclusive or theirs.workload.exclusive):
        return ""
    if (pod.gang, pod.island) != (other.gang, other.island):
        return "domain_shared" if same_domain else ""
    return "island_scattered" if not same_domain and other.stays and pod.place != other.place else ""


def _of(case: Case, pod: PodState) -> str:
    return f"{pod.name} (island {pod.island} of {pod.gang}, {case.submitted[pod.gang].workload.priority})"


def claims_exist(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """Before a pod gets a seat."""
    made: dict[str, int] = {}
    for claim in sorted(case.history.claims, key=lambda one: one.revision):
        made.setdefault(claim.name, claim.revision)
    for gang in found.values():
        for name in case.submitted[gang.name].workload.claims:
            for uid, bound in sorted(gang.bound.items()):
                at = made.get(name)
                if (at is None or at > bound) and not case.blind(bound, at or bound):
                    when = f"which was made {at - bound} revisions later" if at is not None else "which was never made"
                    words = f"{gang.name}: pod {uid} got a seat at revision {bound} without claim {name}, {when}"
                    yield Violation("seated_without_claim", words, case.clock.not_after(bound), (gang.name,))
