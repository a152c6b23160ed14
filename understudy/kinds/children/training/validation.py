"""Problems of a training job that no schema can find: each names the field and the fix."""

import re
from collections.abc import Iterator

from understudy.kinds.children.training.spec import ReplicaRole, TrainingJob

LONGEST_NAME = 63  # of a service, and so of a replica
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)


def problem_of(job: TrainingJob) -> str:
    """The first problem; '' without one."""
    return next(_problems(job), "")


def _problems(job: TrainingJob) -> Iterator[str]:
    kind, field = job.kind, f"spec.{job.kind.field}"
    if not job.roles:
        yield f"{field} is empty: give it at least one role of {', '.join(kind.roles)}"
    for role in job.roles:
        yield from _problems_of_role(job, role, f"{field}.{role.written}")
    if len(leaders := [role.written for role in job.roles if role.name in kind.leaders]) > 1:
        yield f"{field} has {' and '.join(leaders)}: only one of them can decide for all"
    if kind.needs_leader and job.roles and job.leader is None:
        yield f"{field}.{kind.leaders[0]} is missing: a {kind.name} has one {kind.leaders[0]}"
    if problem := job.policy.too_many_available(job.total):
        yield problem
    yield from _problems_of_name(job)


def _problems_of_role(job: TrainingJob, role: ReplicaRole, where: str) -> Iterator[str]:
    kind = job.kind
    if not role.name:
        yield f"{where} is no role of a {kind.name}: use {' or '.join(kind.roles)}"
        return
    if sum(other.name == role.name for other in job.roles) > 1:
        yield f"{where} is given twice, in different case: keep one of them"
    if role.name in kind.leaders and role.count != 1:
        yield f"{where}.replicas is {role.count}: there is exactly one {role.name}"
    if not any(container.get("name") == kind.container for container in role.containers):
        yield f"{where}.template.spec.containers: the one that trains must be named {kind.container}"


def _problems_of_name(job: TrainingJob) -> Iterator[str]:
    names = [replica.name for replica in job.replicas()]
    longest = max(names, key=len, default=job.metadata.name)
    if len(longest) > LONGEST_NAME:
        room = LONGEST_NAME - (len(longest) - len(job.metadata.name))
        yield f"metadata.name is too long: its pods are named like {longest}; use {room} characters at most"
    if not _NAME.fullmatch(job.metadata.name):
        yield (
            f"metadata.name {job.metadata.name!r} cannot name the services of its pods: "
            "use lower case letters, digits and '-', and begin with a letter"
        )
