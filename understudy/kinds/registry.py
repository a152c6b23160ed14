"""What a job kind means: turns a job object, and the pods that were seen of it, into a Gang.

`KINDS` says for each kind which places it wants filled, `LEVERS` how it is paused and ended. To add a kind, write its
file and name it in both (its struct is named in objects.decoding, its resource in objects.resources).
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from msgspec.structs import replace

from understudy.kinds import (
    jaxjob,
    job,
    jobset,
    kueue,
    mpijob,
    paddlejob,
    pytorchjob,
    tfjob,
    trainjob,
    xgboostjob,
)
from understudy.kinds.annotations import read_annotations
from understudy.kinds.context import Context
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.gangs.group_gang import with_group_conditions, with_group_rules
from understudy.kinds.job_control import JobControl
from understudy.kinds.observed_pod import ObservedPod, PodState
from understudy.kinds.outline import GangOutline
from understudy.kinds.pod_groups.definition import GroupDefinition
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds

OutlineOf = Callable[[Any, Context, Sequence[ObservedPod]], GangOutline]

KINDS: dict[str, OutlineOf] = {
    "Job": lambda obj, _, seen: job.outline(obj, seen),
    "JobSet": lambda obj, *_: jobset.outline(obj),
    "PyTorchJob": lambda obj, *_: pytorchjob.outline(obj),
    "TFJob": lambda obj, *_: tfjob.outline(obj),
    "XGBoostJob": lambda obj, *_: xgboostjob.outline(obj),
    "PaddleJob": lambda obj, *_: paddlejob.outline(obj),
    "JAXJob": lambda obj, *_: jaxjob.outline(obj),
    "MPIJob": lambda obj, *_: mpijob.outline(obj),
    "TrainJob": lambda obj, context, _: trainjob.outline(obj, context),
}

CONTROLS: dict[str, Callable[[Any], JobControl]] = {
    "Job": lambda _: job.CONTROL,
    "JobSet": lambda _: jobset.CONTROL,
    "PyTorchJob": lambda _: pytorchjob.CONTROL,
    "TFJob": lambda _: tfjob.CONTROL,
    "XGBoostJob": lambda _: xgboostjob.CONTROL,
    "PaddleJob": lambda _: paddlejob.CONTROL,
    "JAXJob": lambda _: jaxjob.CONTROL,
    "MPIJob": mpijob.control_of,
    "TrainJob": lambda _: trainjob.CONTROL,
}


NO_GROUPS: Mapping[str, GroupDefinition] = {}


def gang_of(
    obj: Workload,
    context: Context,
    seen: Sequence[ObservedPod] = (),
    groups: Mapping[str, GroupDefinition] = NO_GROUPS,
    done: Set[str] = frozenset(),
) -> Gang | None:
    """The gang of a job. None: it is finished, or wants no pods, and none of them is left.

    `groups` are those its pods are said to belong to, by island; `done` are places that its children say are done.
    """
    meta = obj.metadata
    created = seconds(meta.creation_timestamp) or 0.0
    notes = read_annotations(meta.annotations, obj)
    if kueue.manages_suspend(meta):  # its suspend is Kueue's to take back, whatever was written before
        notes = replace(notes, requeued=False)
    outline, pods = kueue.with_kueue_topology(KINDS[obj.kind](obj, context, seen), seen)
    if groups:
        outline, pods = with_group_rules(outline, pods, groups)
    gang = assemble_gang(GangHead(obj.kind, meta.namespace, meta.name, created, notes), outline, pods, context, done)
    if gang is None or not groups:
        return gang
    ended = max(sum(s.state is PodState.DONE for s in seen), getattr(obj.status, "succeeded", 0))
    for definition in {d.title: d for d in groups.values()}.values():
        gang = with_group_conditions(gang, definition, gang.size + ended, f"{obj.title} has {gang.size + ended}")
    return gang


def control_of(obj: Workload) -> JobControl:
    """A job that Kueue queues cannot be paused: Kueue would let it go on at once, since it admitted it."""
    lever = CONTROLS[obj.kind](obj)
    return replace(lever, pause=()) if lever.pause and kueue.manages_suspend(obj.metadata) else lever
