"""JobSet: child Jobs from replicated templates, each an island; with exclusive placement each owns its domain."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from understudy.kinds.annotations import HasTitle, read_annotations
from understudy.kinds.children.actions import ChildActions, Document, ObservedChildren
from understudy.kinds.end_conditions import JOBSET_ENDS
from understudy.kinds.job import pod_indexes, pods_at_once
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.pod_labels import (
    COMPLETION_INDEX,
    EXCLUSIVE,
    JOB_INDEX,
    JOB_KEY,
    JOB_NAME,
    JOBSET_NAME,
    NODE_SELECTOR,
    OLD_JOB_NAME,
    RANDOM_SUFFIX,
    REPLICATED_JOB,
)
from understudy.kinds.roles import LEADING_ROLES, JobRole, mapping, role_of
from understudy.model.gangs import PodCreation, Topology, TopologyMode
from understudy.objects.jobs import JobSet, ReplicatedJob
from understudy.objects.pods import PodTemplate, PodToleration
from understudy.objects.resources import JOB_SETS, JOBS, SERVICES

_COORDINATOR = "jobset.sigs.k8s.io/coordinator"
_LEADING = (*LEADING_ROLES, "leader", "driver")  # what people call such a part of a JobSet
_NAMESPACED_JOB = "alpha.jobset.sigs.k8s.io/namespaced-job"
_NO_SCHEDULE = PodToleration("alpha.jobset.sigs.k8s.io/no-schedule", "Exists", "", "NoSchedule")


def outline(jobset: JobSet) -> GangOutline:
    if JOBSET_ENDS.is_ending(jobset.status.conditions):
        return GangOutline(topologies=_topologies(jobset))
    finished = {status.name: status.succeeded for status in jobset.status.replicated_jobs_status}
    roles = [
        role
        for position, job in enumerate(jobset.spec.replicated_jobs)
        if finished.get(job.name, 0) < job.replicas
        for role in _roles(jobset, job, f"spec.replicatedJobs[{position}].template.spec.template")
    ]
    return GangOutline(tuple(roles), jobset.spec.suspend)


def _topologies(jobset: JobSet) -> dict[str, Topology | None]:
    """Of its islands, as long as they have pods."""
    return {role.island: role.topology for job in jobset.spec.replicated_jobs for role in _roles(jobset, job, "")}


CONTROL = JobControl(("spec", "suspend"))


class _Stage(NamedTuple):
    number: int = 0
    made: PodCreation = PodCreation.AT_ONCE


def _stages(jobset: JobSet) -> dict[str, _Stage]:
    """By replicated job. With InOrder, each waits until the one before is ready; otherwise each waits for those it
    depends on."""
    jobs = jobset.spec.replicated_jobs
    if jobset.spec.startup_policy.startup_policy_order == "InOrder":
        return {job.name: _Stage(n, PodCreation.WHEN_READY if n else PodCreation.AT_ONCE) for n, job in enumerate(jobs)}
    stages: dict[str, _Stage] = {}
    for job in jobs:  # a job may depend only on earlier ones
        before = [stages.get(one.name, _Stage()).number for one in job.depends_on]
        done = any(one.status == "Complete" for one in job.depends_on)
        made = PodCreation.WHEN_DONE if done else PodCreation.WHEN_READY if before else PodCreation.AT_ONCE
        stages[job.name] = _Stage(1 + max(before) if before else 0, made)
    return stages


def topology_of(annotations: Mapping[str, str], titled: HasTitle) -> Topology | None:
    """JobSet's own annotation, otherwise ours. With the node-selector strategy, the nodes were labelled before."""
    if EXCLUSIVE in annotations and NODE_SELECTOR not in annotations:
        return Topology(annotations[EXCLUSIVE], TopologyMode.EXCLUSIVE)
    return read_annotations(annotations, titled).topology


def _roles(jobset: JobSet, job: ReplicatedJob, field: str) -> list[RoleOutline]:
    """One role for each child Job. Annotations of the replicated job's template override those of the JobSet."""
    own = job.template.metadata.annotations
    topology = topology_of(own, jobset) or topology_of(jobset.metadata.annotations, jobset)
    preselected = EXCLUSIVE in (both := {**jobset.metadata.annotations, **own}) and NODE_SELECTOR in both
    indexes = pod_indexes(job.template.spec, indexed=True)
    stage, made = _stages(jobset)[job.name]
    roles = []
    for replica in range(job.replicas):
        name = f"{jobset.metadata.name}-{job.name}-{replica}"
        template = job.template.spec.template
        roles.append(
            RoleOutline(
                island=name,
                names=tuple(f"{name}-{i}" for i in indexes),
                template=_preselected(template, jobset.metadata.namespace, name) if preselected else template,
                field=field,
                labels=_labels(jobset, job, replica, name),
                index_label=COMPLETION_INDEX,
                indexes=indexes,
                topology=None if preselected else topology,
                stage=2 * stage,
                made=made,
                leads=EXCLUSIVE in both and not preselected,
            )
        )
    return roles


def _labels(jobset: JobSet, job: ReplicatedJob, replica: int, name: str) -> dict[str, str]:
    full_name = f"{jobset.metadata.namespace}/{name}"
    return {
        JOBSET_NAME: jobset.metadata.name,
        REPLICATED_JOB: job.name,
        JOB_INDEX: str(replica),
        JOB_KEY: hashlib.sha1(full_name.encode(), usedforsecurity=False).hexdigest(),
        JOB_NAME: name,
        OLD_JOB_NAME: name,
    }


def _preselected(template: PodTemplate, namespace: str, job: str) -> PodTemplate:
    """The node-selector strategy: each child Job's nodes have its name as a label, and a taint that repels other
    pods."""
    spec = msgspec.structs.replace(
        template.spec,
        node_selector={**template.spec.node_selector, _NAMESPACED_JOB: f"{namespace}_{job}"},
        tolerations=(*template.spec.tolerations, _NO_SCHEDULE),
    )
    return msgspec.structs.replace(template, spec=spec)


def _reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    from understudy.kinds.children.jobset import reconcile  # only the controllers of a cluster load it

    return reconcile.reconcile(document, observed, now)


def _roles_in(spec: Mapping[str, Any]) -> Iterator[JobRole]:
    for replicated in spec.get("replicatedJobs") or ():
        job = mapping(mapping(replicated.get("template")).get("spec"))
        count = int(replicated.get("replicas", 1)) * pods_at_once(job)
        yield role_of(str(replicated.get("name", "")), count, job.get("template"))


def _child_names(name: str, roles: Sequence[str]) -> str:
    return rf"{name}-({'|'.join(roles) or '[a-z0-9-]+'})-\d+(-\d+(-{RANDOM_SUFFIX})?)?"


def leads(labels: Mapping[str, str], role: str, place: str) -> bool:
    """Whether a pod is the first of its job: the coordinator, where the JobSet names it; else the first of a role that
    leads."""
    if _COORDINATOR in labels:
        return labels[_COORDINATOR].partition(".")[0] == place
    return role in _LEADING and all(labels.get(label, "0") == "0" for label in (JOB_INDEX, COMPLETION_INDEX))


KIND = JobKind(
    resource=JOB_SETS,
    struct=JobSet,
    outline=lambda job, *_: outline(job),
    names=("jobset", "js"),
    control=lambda _: CONTROL,
    ends=JOBSET_ENDS,
    controller=JobController(JOB_SETS, (JOBS, SERVICES), _reconcile),
    operator="JobSet",
    roles=_roles_in,
    leads=leads,
    pod_labels=(JOBSET_NAME,),
    child_names=_child_names,
    random_pod_names=True,
    has_child_jobs=True,
    domain_label=JOB_KEY,
    exclusive_annotation=EXCLUSIVE,
)
