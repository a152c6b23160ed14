"""What documents 001 and 004 have in common: how a preempted job fares, as they show it and as it does by default."""

import shutil

import msgspec
import pytest

from tests.guides.terminal import ROOT, Terminal
from tests.guides.transcripts import Step

FAILS = "--annotation=understudy.dev/on-preemption=fail"
# A job that goes on later is better than one that failed, so that is what happens unless it asks for what Arena does.
HOW_IT_FARES = pytest.mark.parametrize("fails", [False, True], ids=["requeues by default", "fails if it asks to"])
OTHERWISE = (
    (r"^configmap/.*\n", ""),  # a job is its own record: no ConfigMap remembers it
    (r"\bby default/(\S+ on node \S+)$", r"Preempted by default/\1 (...)"),  # as Kubernetes says it today
    (r"Created container mpi$", "Created container: mpi"),
    (r"^.* Pulled .*\n", ""),  # images are not pulled
)


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"the document uses {program}, which is not on the PATH")


async def start(typing: Terminal, cluster: str) -> None:
    await typing.types(f"understudy up --detach -f {ROOT}/examples/clusters/{cluster}.yaml")
    await typing.types("export KUBECONFIG=$(understudy kubeconfig --path)")
    typing.place = typing.home.parent


def as_asked(steps: list[Step], job: str, fails: bool) -> list[Step]:
    """The job is submitted with the annotation; or it is shown to queue where the document shows it failed."""
    return [_failing(step, job) if fails else _queueing(step) for step in steps]


def _failing(step: Step, job: str) -> Step:
    command = step.command.replace(f"--name={job} ", f"--name={job} {FAILS} ")
    return msgspec.structs.replace(step, command=command)


def _queueing(step: Step) -> Step:
    if "STATUS: FAILED" not in step.shown:
        return step
    return without_instances(msgspec.structs.replace(step, shown=step.shown.replace("FAILED", "QUEUING", 1)))


def without_instances(step: Step) -> Step:
    """A job that was preempted whole has none."""
    head, _, table = step.shown.partition("\n\n")
    status = head.split()[1]
    heading, (name, _, trainer, age, *_) = table.splitlines()[0], table.splitlines()[1].split()
    return msgspec.structs.replace(step, shown=f"{head}\n\n{heading}\n{name} {status} {trainer} {age} N/A N/A")


def runs_again(step: Step) -> Step:
    """The job is shown as it was when it ran first, with one attempt more."""
    head, _, table = step.shown.partition("\n\n")
    return msgspec.structs.replace(step, shown=f"{head}\nATTEMPTS: 2\n\n{table}")


async def perform_in_any_order(typing: Terminal, step: Step) -> None:
    """kubectl shows events in the order of their names."""
    head, *rows = step.shown.splitlines()
    by_reason = '{ read -r line; echo "$line"; sort -k3,3; }'
    ordered = "\n".join([head, *sorted(rows, key=lambda row: row.split()[2])])
    await typing.perform(msgspec.structs.replace(step, command=f"{step.command} | {by_reason}", shown=ordered))
