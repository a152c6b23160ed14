"""The clusters that are timed, each with the question put to the planner and what a right answer must look like."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from bench.decide import plan_checks
from bench.decide.documents import (
    GPUS_PER_NODE,
    HIGH,
    LOW,
    SLICE,
    Document,
    Run,
    daemon_pod,
    jobset,
    lone_job,
    lone_pod,
    node,
    priority_class,
    running_jobset,
    spread_job,
)
from understudy.model.plans import Plan
from understudy.model.snapshot import Snapshot

GANG = 16  # nodes of a gang, and of a slice
JOB = 8  # pods of a plain Job
DAEMONS = 4
SUSPECT = 75  # of so many nodes one
WANTED = "JobSet/default/wanted"

OneGpuJob = Callable[[str, str, float], Iterable[Document]]  # of a name, a node and an age


class Scenario(msgspec.Struct, frozen=True):
    documents: list[Document]
    check: Callable[[Snapshot, Plan], None]  # raises answers.WrongAnswer
    failures: list[Document] = []  # put once the cluster has been seen healthy


def kai_reclaim(nodes: int, one_gpu_job: OneGpuJob = lone_pod, part: int = 10) -> Scenario:
    """Nodes full of one-GPU jobs; one gang wants every GPU of one node in `part`, a tenth of the nodes by default."""
    pods = max(1, nodes // part)
    documents = [*_classes(), *(node(_name(n)) for n in range(nodes))]
    for n in range(nodes):
        for gpu in range(GPUS_PER_NODE):
            documents += one_gpu_job(f"job-{n}-{gpu}", _name(n), _age(GPUS_PER_NODE * n + gpu))
    documents.append(jobset("wanted", (1, pods), HIGH[0]))
    work = sorted(sum(_age(GPUS_PER_NODE * n + gpu) for gpu in range(GPUS_PER_NODE)) for n in range(nodes))

    def check(snapshot: Snapshot, plan: Plan) -> None:
        plan_checks.starts_after_preempting(snapshot, plan, WANTED, pods)
        plan_checks.victims_are(plan, GPUS_PER_NODE * pods, sum(work[:pods]))

    return Scenario(documents, check)


def kai_reclaim_jobs(nodes: int) -> Scenario:
    """The same, with a batch Job behind every pod: twice the objects."""
    return kai_reclaim(nodes, lone_job)


def kai_reclaim_half(nodes: int) -> Scenario:
    """The shape of KAI's own BenchmarkReclaimLargeJobs: the gang wants half of the nodes, whole."""
    return kai_reclaim(nodes, part=2)


def slices(nodes: int) -> Scenario:
    """Domains of 16 nodes, each owned by an exclusive gang, every tenth gang by two; one gang wants four domains."""
    documents = [*_classes(), *(node(_name(n), f"slice-{n // GANG}") for n in range(nodes))]
    owned = list(_owned_domains(nodes // GANG))
    for gang, domains in enumerate(owned):
        documents += running_jobset(Run(f"tenant-{gang}", _age(gang)), [_domain(d) for d in domains], SLICE)
    documents.append(jobset("wanted", (4, GANG), HIGH[0], SLICE))
    singles = sorted(_age(gang) for gang, domains in enumerate(owned) if len(domains) == 1)
    doubles = sorted(2 * _age(gang) for gang, domains in enumerate(owned) if len(domains) == 2)
    choices = [(sum(doubles[:two] + singles[: 4 - 2 * two]), 4 - two) for two in range(min(2, len(doubles)) + 1)]
    least, victims = min(choices)

    def check(snapshot: Snapshot, plan: Plan) -> None:
        plan_checks.starts_after_preempting(snapshot, plan, WANTED, 4 * GANG)
        plan_checks.owns_whole_domains(snapshot, plan, WANTED, SLICE, GANG)
        plan_checks.victims_are(plan, victims, least * GANG * GPUS_PER_NODE)

    return Scenario(documents, check)


def burst(nodes: int) -> Scenario:
    """A full cluster of gangs of 16 nodes; eight nodes fail at once under three important ones; nothing is idle."""
    gangs = nodes // GANG
    important = {0: 3, gangs // 2: 3, gangs - 1: 2}  # gang -> how many of its nodes fail
    documents = [*_classes(), *(node(_name(n)) for n in range(gangs * GANG))]
    for gang in range(gangs):
        run = Run(f"gang-{gang}", _age(gang), HIGH if gang in important else LOW)
        documents += running_jobset(run, [_domain(gang)])
    failed = [_domain(gang)[i] for gang, count in important.items() for i in range(count)]
    cheapest = min(_age(gang) for gang in range(gangs) if gang not in important)
    lost = {f"JobSet/default/gang-{gang}": count for gang, count in important.items()}

    def check(snapshot: Snapshot, plan: Plan) -> None:
        plan_checks.replaces(snapshot, plan, lost)
        plan_checks.victims_are(plan, 1, cheapest * GANG * GPUS_PER_NODE)

    return Scenario(documents, check, [node(name, failed=True) for name in failed])


def cold_start(nodes: int) -> Scenario:
    """An empty cluster, and as many waiting gangs of 16 pods as it holds: 1,000 at 16,000 nodes."""
    gangs = nodes // GANG
    documents = [*_classes(), *(node(_name(n)) for n in range(nodes))]
    documents += (jobset(f"gang-{gang}", (1, GANG), LOW[0], age=60.0 + gang) for gang in range(gangs))

    def check(_: Snapshot, plan: Plan) -> None:
        plan_checks.every_gang_starts(plan, gangs, GANG)
        plan_checks.victims_are(plan, 0, 0.0)

    return Scenario(documents, check)


def queue(nodes: int) -> Scenario:
    """A full cluster of gangs of 16 nodes, and as many again waiting, none more important: nothing can be done."""
    gangs = nodes // GANG
    documents = [*_classes(), *(node(_name(n)) for n in range(gangs * GANG))]
    for gang in range(gangs):
        documents += running_jobset(Run(f"gang-{gang}", _age(gang)), [_domain(gang)])
        documents.append(jobset(f"waiting-{gang}", (1, GANG), LOW[0], age=60.0 + gang))

    def check(_: Snapshot, plan: Plan) -> None:
        plan_checks.every_gang_waits(plan, gangs)

    return Scenario(documents, check)


def mass_suspect(nodes: int) -> Scenario:
    """Plain Jobs all over the first twentieth of the nodes, then gangs that own a slice each, the last tenth idle, and
    daemons everywhere (at 15,000 nodes 100,000 pods); one node in 75 turns suspect at once."""
    slices = nodes // GANG
    pool = max(1, slices // 20)
    idle = pool + slices * 17 // 20  # from this slice on
    labels = {_name(n): f"slice-{n // GANG:05d}" for n in range(slices * GANG)}
    documents = [*_classes(), *(node(name, label) for name, label in labels.items())]
    documents += (daemon_pod(f"daemon-{d}", name) for d in range(DAEMONS) for name in labels)
    for gang in range(pool, idle):
        documents += running_jobset(Run(f"gang-{gang}", _age(gang)), [_domain(gang)], SLICE)
    jobs = [[_name((job * JOB + i) % (pool * GANG)) for i in range(JOB)] for job in range(nodes * 9 // 40)]
    for job, where in enumerate(jobs):
        documents += spread_job(f"job-{job}", where, _age(job))
    suspects = range(0, slices * GANG, SUSPECT)
    sick = {n // GANG for n in suspects}
    shaken = {f"JobSet/default/gang-{gang}": GANG for gang in range(pool, idle) if gang in sick}
    hit = [(f"Job/default/job-{job}", sum(_name(n) in where for n in suspects)) for job, where in enumerate(jobs)]
    places = len(set(range(idle, slices)) - sick)

    def check(snapshot: Snapshot, plan: Plan) -> None:
        plan_checks.keeps_places(snapshot, plan, {key: lost for key, lost in hit if lost}, len(hit))
        plan_checks.keeps_places(snapshot, plan, shaken, places)

    return Scenario(documents, check, [node(_name(n), labels[_name(n)], suspect=True) for n in suspects])


def quiet(nodes: int) -> Scenario:
    """The full cluster of kai_reclaim without waiting gangs: there is nothing to do."""
    wanting = kai_reclaim(nodes).documents

    def check(_: Snapshot, plan: Plan) -> None:
        if plan.actions:
            raise plan_checks.WrongAnswer(
                f"a quiet cluster asks for nothing, yet the plan has {len(plan.actions)} actions"
            )

    return Scenario(wanting[:-1], check)


SCENARIOS: dict[str, Callable[[int], Scenario]] = {
    "kai-reclaim": kai_reclaim,
    "kai-reclaim-jobs": kai_reclaim_jobs,
    "kai-reclaim-half": kai_reclaim_half,
    "slices": slices,
    "burst": burst,
    "cold-start": cold_start,
    "queue": queue,
    "mass-suspect": mass_suspect,
}


def _classes() -> Iterator[Document]:
    yield priority_class(*LOW)
    yield priority_class(*HIGH)


def _name(n: int) -> str:
    return f"node-{n:05d}"


def _domain(index: int) -> list[str]:
    return [_name(n) for n in range(index * GANG, (index + 1) * GANG)]


def _age(index: int) -> float:
    """The age of a job: between an hour and a day, scattered, the same in every run."""
    return float(3_600 + index * 2_654_435_761 % 82_800)


def _owned_domains(domains: int) -> Iterator[list[int]]:
    """The domains that each gang owns: one, every tenth gang two, until none is left."""
    gang, first = 0, 0
    while first < domains:
        width = 2 if gang % 10 == 9 and first + 1 < domains else 1
        yield list(range(first, first + width))
        gang, first = gang + 1, first + width
