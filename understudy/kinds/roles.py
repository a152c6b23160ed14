"""The roles of a job, read from its spec as it is written: how many pods each has, and what their template asks for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from understudy.kinds.pod_labels import JOB_ROLE
from understudy.model.nodes import is_accelerator
from understudy.objects.pods import PodSpec
from understudy.objects.resource_requests import requests_of

Amounts = dict[str, int]  # of resources
LEADING_ROLES = ("launcher", "master", "chief")  # roles that lead, where a kind has one of them


class JobRole(msgspec.Struct, frozen=True):
    name: str
    count: int
    priority: str = ""  # the PriorityClass its template names
    requests: Mapping[str, int] = {}  # of one pod


def replica_roles(spec: Mapping[str, Any], field: str) -> Iterator[JobRole]:
    """The roles of a spec whose `field` maps roles to replicas."""
    for name, value in mapping(spec.get(field)).items():
        replica = mapping(value)
        yield role_of(name.lower(), int(replica.get("replicas", 1)), replica.get("template"))


def role_of(name: str, count: int, template: object) -> JobRole:
    written = mapping(mapping(template).get("spec"))
    try:
        spec = msgspec.convert(written, PodSpec)
    except msgspec.ValidationError:  # what the scheduler could not read either is not ours to complain about
        return JobRole(name, count, str(written.get("priorityClassName") or ""))
    return JobRole(name, count, spec.priority_class_name, amounts_of(spec))


def amounts_of(spec: PodSpec) -> dict[str, int]:
    try:
        return dict(requests_of(spec))
    except ValueError:  # an invalid quantity
        return {}


def leads_by_role(labels: Mapping[str, str], role: str, _: str) -> bool:
    """Whether a pod is the first of its job: the master, where the operator names it; else one of a role that leads."""
    return role in LEADING_ROLES or labels.get(JOB_ROLE) == "master"


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def total_requests(roles: Iterable[JobRole]) -> Amounts:
    """What all pods of these roles ask for together."""
    amounts: Amounts = {}
    for role in roles:
        for name, amount in role.requests.items():
            amounts[name] = amounts.get(name, 0) + amount * role.count
    return amounts


def accelerators(amounts: Mapping[str, int]) -> int:
    return sum(amount for name, amount in amounts.items() if is_accelerator(name))
