"""TrainJob: the JobSet that it created; before that, its runtime's template with the job's numbers and patches."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.kinds import jobset
from understudy.kinds.annotations import PREFIX
from understudy.kinds.children.actions import ChildActions, Document, ObservedChildren
from understudy.kinds.context import Context
from understudy.kinds.end_conditions import TRAIN_JOB_ENDS
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind, SoleChild
from understudy.kinds.outline import GangOutline
from understudy.kinds.pod_labels import EXCLUSIVE, JOBSET_NAME, RANDOM_SUFFIX
from understudy.kinds.roles import JobRole, mapping, role_of
from understudy.objects.errors import BadObject
from understudy.objects.jobs import JobSet, JobSetStatus, PodSpecPatch, ReplicatedJob, TrainingRuntime, TrainJob
from understudy.objects.pods import PodSpec, Resources
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, JOB_SETS, TRAIN_JOBS, TRAINING_RUNTIMES

CONTROL = JobControl(("spec", "suspend"))
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def outline(job: TrainJob | JobSet, context: Context) -> GangOutline:
    """For an existing JobSet, see `from_made_jobset`."""
    if isinstance(job, JobSet):
        return jobset.outline(job)
    if TRAIN_JOB_ENDS.is_ending(job.status.conditions):
        return GangOutline()
    return jobset.outline(jobset_of(job, _runtime(job, context)))


def _runtime(job: TrainJob, context: Context) -> TrainingRuntime:
    ref = job.spec.runtime_ref
    namespace = "" if ref.kind == "ClusterTrainingRuntime" else job.metadata.namespace
    runtime = context.runtimes.get((ref.kind, namespace, ref.name))
    if runtime is None:
        known = ", ".join(sorted(f"{kind} {name}" for kind, _, name in context.runtimes)) or "none"
        raise BadObject(job.title, "spec.runtimeRef.name", f"there is no {ref.kind} {ref.name!r}; there are: {known}")
    return runtime


def jobset_of(job: TrainJob, runtime: TrainingRuntime) -> JobSet:
    """The JobSet that the trainer would create, with the job's name and title."""
    template = runtime.spec.template
    annotations = {**template.metadata.annotations, **job.spec.annotations, **_ours(job)}
    replicated = tuple(_patched(_sized(r, job, runtime), job) for r in template.spec.replicated_jobs)
    spec = msgspec.structs.replace(template.spec, replicated_jobs=replicated, suspend=job.spec.suspend)
    metadata = msgspec.structs.replace(job.metadata, annotations=annotations)
    status = JobSetStatus(replicated_jobs_status=job.status.jobs_status)
    return JobSet(kind=job.kind, api_version=job.api_version, metadata=metadata, spec=spec, status=status)


def from_made_jobset(job: TrainJob, made: JobSet) -> TrainJob | JobSet:
    """The JobSet that was created for the job, with the job's name and title: later changes of the runtime have no
    effect on it. Whether it is suspended or finished is read from the job itself."""
    if TRAIN_JOB_ENDS.is_ending(job.status.conditions):
        return job
    metadata = msgspec.structs.replace(job.metadata, annotations={**made.metadata.annotations, **_ours(job)})
    spec = msgspec.structs.replace(made.spec, suspend=job.spec.suspend)
    return JobSet(kind=job.kind, api_version=job.api_version, metadata=metadata, spec=spec, status=made.status)


def _ours(job: TrainJob) -> dict[str, str]:
    return {k: v for k, v in job.metadata.annotations.items() if k.startswith(PREFIX) or k == EXCLUSIVE}


def _sized(replicated: ReplicatedJob, job: TrainJob, runtime: TrainingRuntime) -> ReplicatedJob:
    """The trainer's step has a pod for each node; one less if the launcher is a node itself."""
    step = replicated.template.metadata.labels.get(_STEP)
    if step != "trainer" and replicated.name != "node":
        return replicated
    policy = runtime.spec.ml_policy
    nodes = policy.num_nodes if job.spec.trainer.num_nodes is None else job.spec.trainer.num_nodes
    if policy.mpi.run_launcher_as_node and replicated.name == "node":
        nodes -= 1
    elif replicated.name == "launcher":
        nodes = 1
    spec = msgspec.structs.replace(replicated.template.spec, parallelism=nodes, completions=nodes)
    if job.spec.trainer.resources_per_node:
        pod = _with_resources(spec.template.spec, job.spec.trainer.resources_per_node)
        spec = msgspec.structs.replace(spec, template=msgspec.structs.replace(spec.template, spec=pod))
    return _with_spec(msgspec.structs.replace(replicated, replicas=1), spec)


def _with_resources(pod: PodSpec, resources: Resources) -> PodSpec:
    """The job's resources override those of the trainer's container: the one named node, otherwise the first."""
    names = [c.name for c in pod.containers]
    index = names.index("node") if "node" in names else 0
    containers = list(pod.containers)
    old = containers[index].resources
    both = Resources(requests={**old.requests, **resources.requests}, limits={**old.limits, **resources.limits})
    containers[index] = msgspec.structs.replace(containers[index], resources=both)
    return msgspec.structs.replace(pod, containers=tuple(containers))


def _patched(replicated: ReplicatedJob, job: TrainJob) -> ReplicatedJob:
    for patch in _patches(replicated.name, job):
        template = replicated.template.spec.template
        pod = msgspec.structs.replace(
            template.spec,
            node_selector={**template.spec.node_selector, **patch.node_selector},
            tolerations=patch.tolerations or template.spec.tolerations,
            affinity=patch.affinity or template.spec.affinity,
            scheduling_gates=template.spec.scheduling_gates + patch.scheduling_gates,
        )
        template = msgspec.structs.replace(template, spec=pod)
        replicated = _with_spec(replicated, msgspec.structs.replace(replicated.template.spec, template=template))
    return replicated


def _patches(name: str, job: TrainJob) -> Iterator[PodSpecPatch]:
    for override in job.spec.pod_template_overrides:
        if any(target.name == name for target in override.target_jobs):
            yield override.spec
    for patch in job.spec.runtime_patches:
        for replicated in patch.training_runtime_spec.template.spec.replicated_jobs:
            if replicated.name == name:
                yield replicated.template.spec.template.spec


def _with_spec(replicated: ReplicatedJob, spec: msgspec.Struct) -> ReplicatedJob:
    return msgspec.structs.replace(replicated, template=msgspec.structs.replace(replicated.template, spec=spec))


def _reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    from understudy.kinds.children.trainjob import reconcile  # only the controllers of a cluster load it

    return reconcile.reconcile(document, observed, now)


def _roles_in(spec: Mapping[str, Any]) -> Iterator[JobRole]:
    """What the runtime says is not known here."""
    trainer = mapping(spec.get("trainer"))
    container = {"name": "node", "resources": trainer.get("resourcesPerNode") or {}}
    yield role_of("node", int(trainer.get("numNodes") or 1), {"spec": {"containers": [container]}})


KIND = JobKind(
    resource=TRAIN_JOBS,
    struct=TrainJob,
    outline=lambda job, context, _: outline(job, context),
    names=("trainjob", "train"),
    control=lambda _: CONTROL,
    ends=TRAIN_JOB_ENDS,
    controller=JobController(TRAIN_JOBS, (JOB_SETS,), _reconcile, reads=(TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)),
    operator="Trainer",
    roles=_roles_in,
    has_templates=False,
    leads=jobset.leads,
    pod_labels=(JOBSET_NAME,),
    child_names=lambda name, _: rf"{name}|{name}-[a-z][a-z0-9-]*-\d+(-\d+(-{RANDOM_SUFFIX})?)?",
    random_pod_names=True,
    child=SoleChild(JOB_SETS, from_made_jobset),
)
