"""Warm understudies of a job: turns a member of the job into a pod that can take over from any similar member."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.kinds.annotations import CAPACITY, PREFIX, UNDERSTUDY_OF, WARM_FOR, WARM_IMPORTS
from understudy.kinds.pod_labels import JOB_ROLE, MPI_ROLE, REPLICA_TYPE, REPLICATED_JOB
from understudy.model.nodes import is_accelerator
from understudy.model.quantity import parse_quantity

Document = dict[str, Any]

TEMPLATE_KEY = f"{PREFIX}warm-make"  # identifies the template of the members it can replace
_LONGEST_LABEL = 63
GRACE = 1  # seconds: an understudy that waits has no work to save
_ROLES = (REPLICATED_JOB, REPLICA_TYPE, JOB_ROLE, MPI_ROLE)
# An understudy has its own place and priority; probes and hooks have to wait until the program starts.
_NOT_OF_THE_POD = (
    "nodeName", "hostname", "subdomain", "setHostnameAsFQDN", "priority", "priorityClassName", "preemptionPolicy",
    "schedulingGates", "topologySpreadConstraints", "activeDeadlineSeconds",
)  # fmt: skip
_NOT_OF_CONTAINERS = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")


def understudy_name(job: str, number: int) -> str:
    return f"{job}-warm-{number}"


def template_member(members: Iterable[Document]) -> Document | None:
    """The member to copy: one that needs accelerators, otherwise one of the largest role."""
    roles: dict[str, list[Document]] = {}
    for member in sorted(members, key=lambda one: str(one["metadata"]["name"])):
        roles.setdefault(_role(member), []).append(member)
    order = sorted(roles, key=lambda role: (-_accelerators(roles[role][0]), -len(roles[role]), role))
    return roles[order[0]][0] if order else None


def _role(member: Document) -> str:
    labels: Mapping[str, str] = member["metadata"].get("labels") or {}
    return next((labels[name] for name in _ROLES if name in labels), "")


def _accelerators(pod: Document) -> int:
    limits = [container.get("resources", {}).get("limits") or {} for container in pod["spec"]["containers"]]
    return sum(
        parse_quantity(amount, name) for found in limits for name, amount in found.items() if is_accelerator(name)
    )


def template_key(member: Document) -> str:
    """«accelerators/role/digest»: the same for all members of a role; it changes when their template changes what an
    understudy needs."""
    spec = member["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    parts = [[one.get(key) for key in ("name", "image", "resources")] for one in containers]
    parts.append([spec.get("nodeSelector"), spec.get("restartPolicy")])
    digest = hashlib.blake2b(msgspec.json.encode(parts, order="sorted"), digest_size=8).hexdigest()
    return f"{_accelerators(member)}/{_role(member)}/{digest}"


def _capacity(document: Document) -> str:
    found: str = (document["metadata"].get("annotations") or {}).get(CAPACITY, "")
    return found


def is_outdated(make: str, model: Document) -> bool:
    """Whether an understudy with this key would be created differently now. While its role has no members, the key
    cannot be compared."""
    wanted = template_key(model)
    if make.count("/") != 2:
        return True
    (count, role, _), (best, other, _) = make.split("/"), wanted.split("/")
    return make != wanted and (role == other or int(best) > int(count))


def understudy_pod(job: Document, gang: str, member: Document, number: int) -> Document:
    """A pod like the member, which belongs to the job and does not count as a member."""
    meta = job["metadata"]
    notes = {WARM_FOR: gang, TEMPLATE_KEY: template_key(member)}
    if capacity := _capacity(member) or _capacity(job):  # it has to sit where it may step in
        notes[CAPACITY] = capacity
    if imports := (meta.get("annotations") or {}).get(WARM_IMPORTS):
        notes[WARM_IMPORTS] = imports
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": understudy_name(meta["name"], number),
            "namespace": meta["namespace"],
            **({"labels": {UNDERSTUDY_OF: meta["name"]}} if len(meta["name"]) <= _LONGEST_LABEL else {}),
            "annotations": notes,
            "ownerReferences": [{**owner, "controller": False, "blockOwnerDeletion": False}],
        },
        "spec": _holding(member["spec"]),
    }


def _holding(spec: Document) -> Document:
    kept = {key: value for key, value in spec.items() if key not in _NOT_OF_THE_POD}
    affinity = {key: value for key, value in (kept.pop("affinity", None) or {}).items() if key == "nodeAffinity"}
    for group in ("initContainers", "containers"):
        if group in kept:
            kept[group] = [_unwatched(container) for container in kept[group]]
    return {**kept, **({"affinity": affinity} if affinity else {}), "terminationGracePeriodSeconds": GRACE}


def _unwatched(container: Document) -> Document:
    kept = {key: value for key, value in container.items() if key not in _NOT_OF_CONTAINERS}
    if "ports" in kept:  # its member uses these host ports, or will
        kept["ports"] = [{k: v for k, v in port.items() if k != "hostPort"} for port in kept["ports"]]
    return kept
