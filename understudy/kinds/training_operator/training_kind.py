"""What the kinds of the training operator share: replicas by role, one pod for each replica, all of them in one
island."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from understudy.kinds.annotations import read_annotations
from understudy.kinds.children.actions import ChildActions, Document, ObservedChildren
from understudy.kinds.children.training.spec import TrainingKind
from understudy.kinds.end_conditions import TRAINING_OPERATOR_ENDS
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.pod_labels import OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.jobs import ReplicaSpec, RunPolicy, Workload
from understudy.objects.meta import KubeObject
from understudy.objects.resources import PODS, SERVICES

RUN_POLICY_CONTROL = JobControl(("spec", "runPolicy", "suspend"))

MinMembers = Callable[[Any], int | None]  # how many members of a job are enough; None: all

OrderedReplicas = list[tuple[str, ReplicaSpec, str]]  # (role in lower case, its replicas, their path)


def all_members(_: Any) -> None:
    """All members are needed."""


def training_kind(
    rules: TrainingKind,
    struct: type[Workload],
    names: tuple[str, ...],
    order: tuple[str, ...] = ("master", "worker"),
    min_members: MinMembers = all_members,
) -> JobKind:
    """A kind of the training operator. `order` lists its roles in a gang by importance."""

    def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
        # Commands and schedulers never need it, and it takes longer to load than all kinds together.
        from understudy.kinds.children.training import reconcile as controller

        return controller.reconcile(rules, document, observed, now)

    return JobKind(
        resource=rules.resource,
        struct=struct,
        outline=lambda job, *_: replicas_outline(job, rules.field, order, min_members(job)),
        names=names,
        control=lambda _: RUN_POLICY_CONTROL,
        suspend_path=RUN_POLICY_CONTROL.pause,
        ends=TRAINING_OPERATOR_ENDS,
        controller=JobController(rules.resource, (PODS, SERVICES), reconcile),
        operator="training-operator",
        operator_labels=(f"{rules.resource.kind.lower()}-controller",),
        replicas_field=rules.field,
        says_running=True,
    )


def replicas_outline(job: Workload, field: str, order: Sequence[str], least: int | None = None) -> GangOutline:
    """`field` names the map of replicas, `order` the roles by importance; `least` is the minimum of members."""
    if TRAINING_OPERATOR_ENDS.is_ending(job.status.conditions):
        return GangOutline()
    ordered = ordered_replicas(job.spec.replicas, f"spec.{field}", order)
    roles = tuple(role_outline(job, role, spec, where) for role, spec, where in ordered)
    return GangOutline(roles, job.spec.run_policy.suspend, least_members(job.spec.run_policy, least))


def ordered_replicas(replicas: Mapping[str, ReplicaSpec], field: str, order: Sequence[str]) -> OrderedReplicas:
    """Role names may be in any case. Roles unknown to the kind come last."""
    found = [(role.lower(), spec, f"{field}.{role}.template") for role, spec in replicas.items()]
    return sorted(found, key=lambda r: (order.index(r[0]) if r[0] in order else len(order), r[0]))


def least_members(policy: RunPolicy, least: int | None) -> int | None:
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
