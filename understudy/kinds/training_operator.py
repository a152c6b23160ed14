"""What the kinds of the training operator share: replicas by role, one pod a replica, all of them one island."""

from collections.abc import Mapping, Sequence

from understudy.kinds.annotations import read_annotations
from understudy.kinds.job_control import JobControl
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.ownership import OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.jobs import ReplicaSpec, RunPolicy, TrainingJob
from understudy.objects.meta import KubeObject, has_condition

RUN_POLICY_CONTROL = JobControl(("spec", "runPolicy", "suspend"))

OrderedReplicas = list[tuple[str, ReplicaSpec, str]]  # (role in lower case, its replicas, where they stand)


def replicas_outline(job: TrainingJob, field: str, order: Sequence[str], least: int | None = None) -> GangOutline:
    """`field` names the map of replicas, `order` the roles by importance; `least` is how many members will do."""
    if has_condition(job.status.conditions, "Succeeded", "Failed"):
        return GangOutline()
    ordered = ordered_replicas(job.spec.replicas, f"spec.{field}", order)
    roles = tuple(role_outline(job, role, spec, where) for role, spec, where in ordered)
    return GangOutline(roles, job.spec.run_policy.suspend, min_members(job.spec.run_policy, least))


def ordered_replicas(replicas: Mapping[str, ReplicaSpec], field: str, order: Sequence[str]) -> OrderedReplicas:
    """Roles may be written in any case. Those the kind does not name come last."""
    found = [(role.lower(), spec, f"{field}.{role}.template") for role, spec in replicas.items()]
    return sorted(found, key=lambda r: (order.index(r[0]) if r[0] in order else len(order), r[0]))


def min_members(policy: RunPolicy, least: int | None) -> int | None:
    return least if policy.scheduling_policy.min_available is None else policy.scheduling_policy.min_available


def role_outline(job: KubeObject, role: str, spec: ReplicaSpec, field: str) -> RoleOutline:
    name = job.metadata.name
    return RoleOutline(
        island=name,
        names=tuple(f"{name}-{role}-{i}" for i in range(spec.replicas)),
        template=spec.template,
        field=field,
        labels={OPERATOR: f"{job.kind.lower()}-controller", TRAINING_JOB: name, REPLICA_TYPE: role},
        index_label=REPLICA_INDEX,
        indexes=tuple(range(spec.replicas)),
        topology=read_annotations(job.metadata.annotations, job).topology,
    )
