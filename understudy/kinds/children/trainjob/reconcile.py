"""A TrainJob, its runtime and its JobSet, into what is to be done next."""

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    PatchChild,
)
from understudy.kinds.children.partial_objects import PartialJobSet, find_condition, whole_seconds, with_condition
from understudy.kinds.children.trainjob.jobset_template import MADE_OF, Unsupported, jobset_of, spec_digest
from understudy.kinds.children.trainjob.spec import OWN_CONTROLLER, TrainJobObject
from understudy.kinds.end_conditions import JOBSET_ENDS, TRAIN_JOB_ENDS
from understudy.objects.errors import BadObject
from understudy.objects.meta import Condition, has_condition, seconds
from understudy.objects.resources import JOB_SETS

JOB_SET_CREATED = EventNote("SuccessfulCreate", "Created jobset: {name}")
NOT_SUPPORTED = "TrainingRuntimeNotSupported"


class _Case(msgspec.Struct, frozen=True):
    """One look at one job."""

    job: TrainJobObject
    document: Document  # the same, as it is written
    observed: ObservedChildren
    now: float


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    job = msgspec.convert(document, TrainJobObject)
    if job.spec.managed_by not in ("", OWN_CONTROLLER) or job.metadata.leaving:
        return NO_ACTIONS
    jobset = next(iter(observed.jobsets), None)
    if job.finished:
        return ChildActions(deletes=_outlived(jobset))
    status = _with_suspension(job, _with_figures(document.get("status") or {}, jobset), now)
    if jobset is not None and (end := _end_of(jobset)) is not None:
        return _ended(status, end)
    deadline = _deadline(job, status)
    if deadline is not None and now >= deadline:
        note = EventNote("DeadlineExceeded", "TrainJob exceeded its active deadline", "Warning")
        return msgspec.structs.replace(_failed(status, note, now), deletes=_outlived(jobset))
    case = _Case(job, document, observed, now)
    wanted = _begun(case, status) if jobset is None else _while_running(case, status, jobset)
    return msgspec.structs.replace(wanted, again_at=deadline)


def _begun(case: _Case, status: Document) -> ChildActions:
    try:
        made = jobset_of(case.job, case.document, _runtime(case.job, case.observed))
    except Unsupported as error:
        return _failed(status, EventNote(NOT_SUPPORTED, str(error), "Warning"), case.now)
    except BadObject as error:
        return ChildActions(status=status, notes=(EventNote("TrainJobResourcesCreationFailed", str(error), "Warning"),))
    return ChildActions(
        status=status, creates=(CreateChild(JOB_SETS, made, EventNote("SuccessfulCreate", "Created jobset: {name}")),)
    )


def _runtime(job: TrainJobObject, observed: ObservedChildren) -> Document:
    """Raises BadObject where it is not there yet, and Unsupported where it never will be."""
    ref = job.spec.runtime_ref
    resource = ref.resource
    if resource is None:
        raise Unsupported(f"unsupported runtime: {ref.kind}.{ref.api_group}")
    namespace = job.metadata.namespace if resource.namespaced else ""
    runtime = observed.read_object(resource, namespace, ref.name)
    if runtime is None:
        known = ", ".join(observed.read_names(resource, namespace)) or "none"
        words = f"there is no {ref.kind} {ref.name!r}; there are: {known}"
        raise BadObject(job.title, "spec.runtimeRef.name", words)
    return runtime


def _while_running(case: _Case, status: Document, jobset: PartialJobSet) -> ChildActions:
    """It pauses when its job pauses. One made of another edition is made again before it goes on."""
    meta, suspend = jobset.metadata, case.job.spec.suspend
    if meta.leaving:
        return ChildActions(status=status)
    if jobset.spec.suspend and meta.annotations.get(MADE_OF) != spec_digest(case.document):
        return _made_again(case, status, jobset)
    if jobset.spec.suspend == suspend:
        return ChildActions(status=status)
    change: Document = {"metadata": {"uid": meta.uid}, "spec": {"suspend": suspend}}
    return ChildActions(status=status, patches=(PatchChild(JOB_SETS, meta.name, change),))


def _made_again(case: _Case, status: Document, jobset: PartialJobSet) -> ChildActions:
    """The old one goes when its pods have left, and not before it is clear that there will be a new one."""
    if any(each.active for each in jobset.status.replicated_jobs_status):
        return ChildActions(status=status)
    anew = _begun(case, status)
    return ChildActions(status=status, deletes=_deleted(jobset)) if anew.creates else anew


def _with_figures(status: Document, jobset: PartialJobSet | None) -> Document:
    if jobset is None:
        return status
    return {**status, "jobsStatus": [msgspec.structs.asdict(each) for each in jobset.status.replicated_jobs_status]}


def _with_suspension(job: TrainJobObject, status: Document, now: float) -> Document:
    was = has_condition(job.status.conditions, "Suspended")
    if job.spec.suspend == was:
        return status
    if job.spec.suspend:
        condition = Condition("Suspended", "True", "Suspended", "TrainJob is suspended")
    else:
        condition = Condition("Suspended", "False", "Resumed", "TrainJob is resumed")
    return _noted(status, condition, now)


def _end_of(jobset: PartialJobSet) -> Condition | None:
    return next(iter(JOBSET_ENDS.recorded(jobset.status.conditions)), None)


def _ended(status: Document, end: Condition) -> ChildActions:
    """As its JobSet did, for the same reason and at the same time."""
    succeeded = end.type == JOBSET_ENDS.succeeded
    condition = msgspec.structs.replace(end, type=TRAIN_JOB_ENDS.succeeded if succeeded else TRAIN_JOB_ENDS.failed)
    note = EventNote(condition.reason, condition.message, "Normal" if succeeded else "Warning")
    return ChildActions(status=_noted(status, condition, seconds(end.last_transition_time) or 0.0), notes=(note,))


def _failed(status: Document, why: EventNote, now: float) -> ChildActions:
    return ChildActions(status=_noted(status, Condition("Failed", "True", why.reason, why.message), now), notes=(why,))


def _deadline(job: TrainJobObject, status: Document) -> float | None:
    """The time counts from the start of the job, and from each resumption again."""
    if job.spec.active_deadline_seconds is None or job.spec.suspend:
        return None
    resumed = find_condition(msgspec.convert(status.get("conditions") or [], list[Condition]), "Suspended")
    begun = seconds(resumed.last_transition_time if resumed else job.metadata.creation_timestamp)
    return None if begun is None else begun + job.spec.active_deadline_seconds


def _outlived(jobset: PartialJobSet | None) -> tuple[DeleteChild, ...]:
    """What still runs when the job has ended is taken away; what has ended with it is kept to be looked at."""
    return () if jobset is None or _end_of(jobset) is not None else _deleted(jobset)


def _deleted(jobset: PartialJobSet) -> tuple[DeleteChild, ...]:
    """In the foreground: its name is free again only when its pods are gone as well."""
    meta = jobset.metadata
    return () if meta.leaving else (DeleteChild(JOB_SETS, meta.name, meta.uid, propagation="Foreground"),)


def _noted(status: Document, condition: Condition, moment: float) -> Document:
    plain = {
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": whole_seconds(moment),
        "reason": condition.reason,
        "message": condition.message,
    }
    return {**status, "conditions": with_condition(status.get("conditions") or [], plain)}
