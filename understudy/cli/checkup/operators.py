"""Whose kinds the cluster serves: the operators that make pods of jobs, and others who queue or group them."""

from collections.abc import Iterable

import msgspec

from understudy.cli.checkup.findings import Finding, care, note, well
from understudy.cli.checkup.seen import Seen
from understudy.objects import resources as known
from understudy.objects.resources import Resource


class Operator(msgspec.Struct, frozen=True):
    name: str
    group: str
    plurals: tuple[str, ...]
    versions: tuple[str, ...] = ()  # those that Understudy reads; none: it reads nothing but labels and annotations
    use: str = ""


def _of(name: str, *kinds: Resource) -> Operator:
    unique = dict.fromkeys
    return Operator(
        name, kinds[0].group, tuple(unique(one.plural for one in kinds)), tuple(unique(one.version for one in kinds))
    )


OPERATORS = (
    _of("JobSet", known.JOB_SETS),
    _of("training-operator", known.PYTORCH_JOBS, known.TF_JOBS, known.XGBOOST_JOBS, known.PADDLE_JOBS, known.JAX_JOBS),
    _of("mpi-operator", known.MPI_JOBS, known.MPI_JOBS_V1, known.MPI_JOBS_V1ALPHA1),
    _of("Trainer", known.TRAIN_JOBS),
    Operator("Kueue", "kueue.x-k8s.io", ("workloads",), use="the suspend of the jobs that it queues is left to it"),
    Operator("Volcano", "scheduling.volcano.sh", ("podgroups",), use="its groups define gangs"),
    Operator("scheduler-plugins", "scheduling.x-k8s.io", ("podgroups",), use="its groups define gangs"),
    Operator("Kubernetes' own groups", "scheduling.k8s.io", ("podgroups",), use="they define gangs"),
)


def check(seen: Seen) -> list[Finding]:
    found, absent = [], []
    for operator in OPERATORS:
        plurals = [plural for plural in operator.plurals if seen.serves(operator.group, plural)]
        if plurals:
            found.append(_found(operator, plurals, seen))
        else:
            absent.append(operator.name)
    if not seen.embedded and absent:
        found.append(note(f"not there: {', '.join(absent)}"))
    return found


def _found(operator: Operator, plurals: list[str], seen: Seen) -> Finding:
    versions = sorted({version for plural in plurals for version in _versions(operator, plural, seen)})
    text = f"{operator.name}: {', '.join(plurals)} ({', '.join(versions)})"
    if not operator.versions:
        return well(f"{text}; {operator.use}")
    unread = [plural for plural in plurals if not _read(operator, _versions(operator, plural, seen))]
    if unread:
        fix = f"Understudy reads {', '.join(operator.versions)}: use a release of either that agrees with the other"
        return care(f"{text}: {', '.join(unread)} cannot be read", fix)
    return well(text)


def _versions(operator: Operator, plural: str, seen: Seen) -> list[str]:
    return [version for version, plurals in seen.served.get(operator.group, {}).items() if plural in plurals]


def _read(operator: Operator, versions: Iterable[str]) -> bool:
    return any(version in operator.versions for version in versions)
