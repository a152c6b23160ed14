"""What types cannot say: quantities that parse, selectors with sound operators, effects and counts that exist.

`check` hands the object back, or raises BadObject with the first field that is wrong.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

import msgspec

from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from understudy.model.quantity import parse_quantity
from understudy.objects import pods
from understudy.objects.cluster_objects import PersistentVolume, PodDisruptionBudget
from understudy.objects.errors import BadObject, at
from understudy.objects.jobs import Job, JobSet, JobSpec, MPIJob, ReplicaSpec, ReplicatedJob, TrainingRuntime, TrainJob
from understudy.objects.meta import Expression, KubeObject, LabelSelector
from understudy.objects.nodes import Node
from understudy.objects.pod_groups import PodGroup
from understudy.objects.pods import Container, Pod, PodSpec, Quantity, Resources, without_unread_fields

SomeObject = TypeVar("SomeObject", bound=KubeObject)
Problem = tuple[str, str]  # (field, what is wrong)
ProblemsOf = Callable[[Any], Iterator[Problem]]

TAINT_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")
_UNNAMED = ("Node", "Lease", "Namespace", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "StorageClass")

_POLICIES = ("", "Never", "PreemptLowerPriority")
_BULKY = ("containers", "tolerations", "affinity", "init_containers")
_ALIKE = (*_BULKY, "overhead", "resources", "topology_spread_constraints", "preemption_policy")

_sound_specs: dict[bytes, PodSpec] = {}
_encode = msgspec.msgpack.Encoder().encode


def no_problems(_: Any) -> Iterator[Problem]:
    return iter(())


def check(obj: SomeObject, problems: ProblemsOf = no_problems) -> SomeObject:
    """`problems` are those that only the object's own kind knows."""
    if not obj.metadata.namespace:
        obj = _with_metadata(obj, namespace="default")
    if not obj.metadata.name:
        obj = _named(obj)
    if isinstance(obj, Pod):
        without_unread_fields(obj)
    for field, problem in chain(_problems(obj), problems(obj)):
        raise BadObject(obj.title, field, problem)
    return obj


def _named(obj: SomeObject) -> SomeObject:
    """A job or pod with generateName is planned under that name without its random end."""
    prefix = obj.metadata.generate_name.rstrip("-.")
    if prefix and obj.kind not in _UNNAMED:
        return _with_metadata(obj, name=prefix)
    say = "generateName makes one only when the object is created: write the name" if prefix else "give it a name"
    raise BadObject(f"{obj.kind} without a name", "metadata.name", f"is missing; {say}")


def _with_metadata(obj: SomeObject, **fields: str) -> SomeObject:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **fields))


def _problems(obj: KubeObject) -> Iterator[Problem]:
    if isinstance(obj, Pod):
        yield from _pod_spec(obj.spec, "spec")
    elif isinstance(obj, Node):
        yield from _node(obj)
    elif isinstance(obj, Job):
        yield from _job(obj.spec, "spec")
    elif isinstance(obj, JobSet):
        yield from _jobset(obj.spec.replicated_jobs, "spec.replicatedJobs")
    elif isinstance(obj, TrainingRuntime):
        yield from _jobset(obj.spec.template.spec.replicated_jobs, "spec.template.spec.replicatedJobs")
    elif isinstance(obj, TrainJob):
        yield from _train_job(obj)
    elif isinstance(obj, MPIJob):
        yield from _mpi_job(obj)
    elif isinstance(obj, PodGroup):
        if (gang := obj.spec.scheduling_policy.gang) and gang.min_count < 1:
            yield "spec.schedulingPolicy.gang.minCount", f"{gang.min_count} is too few; it must be 1 or more"
    elif isinstance(obj, PodDisruptionBudget):
        yield from _budget(obj)
    elif isinstance(obj, PersistentVolume):
        affinity = obj.spec.node_affinity
        if affinity and affinity.required:
            yield from _node_selector(affinity.required, "spec.nodeAffinity.required")
    elif hasattr(obj, "spec") and hasattr(obj.spec, "replicas"):
        yield from _replicas(obj.spec.replicas, f"spec.{_replicas_field(obj.spec)}")


def _replicas_field(spec: msgspec.Struct) -> str:
    return next(field.encode_name for field in msgspec.structs.fields(spec) if field.name == "replicas")


def _replicas(replicas: Mapping[str, ReplicaSpec], field: str) -> Iterator[Problem]:
    if not replicas:
        yield field, "is empty; name at least one role"
    for role, spec in replicas.items():
        if sum(other.lower() == role.lower() for other in replicas) > 1:
            yield at(field, role), "is there twice; roles are the same in upper and lower case"
        yield from _count(spec.replicas, f"{at(field, role)}.replicas")
        yield from _pod_spec(spec.template.spec, f"{at(field, role)}.template.spec")


def _count(count: int | None, field: str) -> Iterator[Problem]:
    if count is not None and count < 0:
        yield field, f"{count} is negative; it must be 0 or more"


def _job(spec: JobSpec, field: str) -> Iterator[Problem]:
    yield from _count(spec.parallelism, f"{field}.parallelism")
    yield from _count(spec.completions, f"{field}.completions")
    if spec.completion_mode not in ("", "Indexed", "NonIndexed"):
        yield f"{field}.completionMode", f"{spec.completion_mode!r} is neither Indexed nor NonIndexed"
    yield from _pod_spec(spec.template.spec, f"{field}.template.spec")


def _jobset(jobs: tuple[ReplicatedJob, ...], field: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, job in enumerate(jobs):
        if job.name in seen:
            yield f"{field}[{i}].name", f"{job.name!r} is there twice; every replicatedJob needs its own name"
        seen.add(job.name)
        yield from _count(job.replicas, f"{field}[{i}].replicas")
        yield from _job(job.template.spec, f"{field}[{i}].template.spec")


def _train_job(job: TrainJob) -> Iterator[Problem]:
    yield from _count(job.spec.trainer.num_nodes, "spec.trainer.numNodes")
    if job.spec.trainer.resources_per_node:
        yield from _resources(job.spec.trainer.resources_per_node, "spec.trainer.resourcesPerNode")
    for i, override in enumerate(job.spec.pod_template_overrides):
        yield from _tolerations(override.spec.tolerations, f"spec.podTemplateOverrides[{i}].spec.tolerations")


def _mpi_job(job: MPIJob) -> Iterator[Problem]:
    spec = job.spec
    if spec.mpi_replica_specs:
        yield from _replicas(spec.mpi_replica_specs, "spec.mpiReplicaSpecs")
        for role, replicas in spec.mpi_replica_specs.items():
            if role.lower() == "launcher" and replicas.replicas > 1:
                yield (
                    f"spec.mpiReplicaSpecs.{role}.replicas",
                    f"{replicas.replicas} must be 1: an MPIJob has one launcher",
                )
        return
    if spec.template is None:
        wanted = "template" if job.api_version.endswith("/v1alpha1") else "mpiReplicaSpecs"
        yield f"spec.{wanted}", "is missing"
        return
    yield from _pod_spec(spec.template.spec, "spec.template.spec")
    if spec.launcher_resources:
        yield from _resources(spec.launcher_resources, "spec.launcherResources")
    yield from _count(spec.replicas, "spec.replicas")
    for name, units, per_node in (
        ("gpus", spec.gpus, spec.gpus_per_node),
        ("processingUnits", spec.processing_units, spec.processing_units_per_node),
    ):
        if units is not None and units < 1:
            yield f"spec.{name}", f"{units} must be 1 or more"
        if per_node is not None and per_node < 1:
            yield f"spec.{name}PerNode", f"{per_node} must be 1 or more"
        if units is not None and units > (per_node or 1) and units % (per_node or 1):
            yield f"spec.{name}", f"{units} does not divide into nodes of {per_node}"
    if (spec.replicas, spec.gpus, spec.processing_units) == (None, None, None):
        yield "spec.replicas", "is missing; say how many workers there are"


def _budget(budget: PodDisruptionBudget) -> Iterator[Problem]:
    if budget.spec.selector:
        yield from _label_selector(budget.spec.selector, "spec.selector")
    for name, value in (("minAvailable", budget.spec.min_available), ("maxUnavailable", budget.spec.max_unavailable)):
        number = value.removesuffix("%") if isinstance(value, str) else str(value or 0)
        if not (number.isascii() and number.isdigit()) or (isinstance(value, str) and not value.endswith("%")):
            yield f"spec.{name}", f"{value!r} is neither a number of pods nor a percentage like 20%"


def _node(node: Node) -> Iterator[Problem]:
    yield from _quantities(node.status.allocatable, "status.allocatable")
    yield from _quantities(node.status.capacity, "status.capacity")
    for i, taint in enumerate(node.spec.taints):
        if taint.effect not in TAINT_EFFECTS:
            yield f"spec.taints[{i}].effect", f"{taint.effect!r} is none of {', '.join(TAINT_EFFECTS)}"


def _pod_spec(spec: PodSpec, field: str) -> Iterator[Problem]:
    """Pods of one template have one spec but for their seat: it is looked at once, and kept in memory once."""
    key = _encode([getattr(spec, name) for name in _ALIKE])
    first = _sound_specs.get(key)
    if first is not None:
        for name in _BULKY:
            msgspec.structs.force_setattr(spec, name, getattr(first, name))
        return
    yield from _pod_spec_parts(spec, field)
    if len(_sound_specs) > 100_000:
        _sound_specs.clear()
    _sound_specs[key] = spec


def _pod_spec_parts(spec: PodSpec, field: str) -> Iterator[Problem]:
    if not spec.containers:
        yield f"{field}.containers", "is empty; a pod has at least one container"
    for i, container in enumerate(spec.containers):
        yield from _container(container, f"{field}.containers[{i}]")
    for i, container in enumerate(spec.init_containers):
        yield from _container(container, f"{field}.initContainers[{i}]")
    yield from _quantities(spec.overhead, f"{field}.overhead")
    if spec.resources:
        yield from _resources(spec.resources, f"{field}.resources")
    yield from _tolerations(spec.tolerations, f"{field}.tolerations")
    if spec.affinity:
        yield from _affinity(spec.affinity, f"{field}.affinity")
    for i, spread in enumerate(spec.topology_spread_constraints):
        yield from _spread(spread, f"{field}.topologySpreadConstraints[{i}]")
    if spec.preemption_policy not in _POLICIES:
        yield f"{field}.preemptionPolicy", f"{spec.preemption_policy!r} is neither Never nor PreemptLowerPriority"


def _container(container: Container, field: str) -> Iterator[Problem]:
    yield from _resources(container.resources, f"{field}.resources")


def _resources(resources: Resources, field: str) -> Iterator[Problem]:
    yield from _quantities(resources.requests, f"{field}.requests")
    yield from _quantities(resources.limits, f"{field}.limits")


def _quantities(amounts: Mapping[str, Quantity], field: str) -> Iterator[Problem]:
    for resource, amount in amounts.items():
        try:
            parse_quantity(amount, resource)
        except ValueError as error:
            yield at(field, resource), str(error)


def _tolerations(tolerations: tuple[pods.PodToleration, ...], field: str) -> Iterator[Problem]:
    for i, toleration in enumerate(tolerations):
        if toleration.operator not in ("Equal", "Exists", ""):
            yield f"{field}[{i}].operator", f"{toleration.operator!r} is neither Equal nor Exists"
        if toleration.effect and toleration.effect not in TAINT_EFFECTS:
            yield f"{field}[{i}].effect", f"{toleration.effect!r} is none of {', '.join(TAINT_EFFECTS)}"
        if toleration.operator == "Exists" and toleration.value:
            yield f"{field}[{i}].value", "must be empty where the operator is Exists"
        if toleration.operator != "Exists" and not toleration.key:
            yield f"{field}[{i}].key", "is missing; only the operator Exists may go without a key"


def _affinity(affinity: pods.Affinity, field: str) -> Iterator[Problem]:
    if node := affinity.node_affinity:
        if node.required:
            yield from _node_selector(node.required, f"{field}.nodeAffinity.{_REQUIRED}")
        for i, preferred in enumerate(node.preferred):
            yield from _weight(preferred.weight, f"{field}.nodeAffinity.{_PREFERRED}[{i}].weight")
            yield from _node_term(preferred.preference, f"{field}.nodeAffinity.{_PREFERRED}[{i}].preference")
    for name, both in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if both is None:
            continue
        for i, term in enumerate(both.required):
            yield from _pod_term(term, f"{field}.{name}.{_REQUIRED}[{i}]")
        for i, weighted in enumerate(both.preferred):
            yield from _weight(weighted.weight, f"{field}.{name}.{_PREFERRED}[{i}].weight")
            yield from _pod_term(weighted.pod_affinity_term, f"{field}.{name}.{_PREFERRED}[{i}].podAffinityTerm")


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _weight(weight: int, field: str) -> Iterator[Problem]:
    if not 1 <= weight <= 100:
        yield field, f"{weight} is not between 1 and 100"


def _node_selector(selector: pods.NodeSelector, field: str) -> Iterator[Problem]:
    if not selector.node_selector_terms:
        yield f"{field}.nodeSelectorTerms", "is empty; write at least one term"
    for i, term in enumerate(selector.node_selector_terms):
        yield from _node_term(term, f"{field}.nodeSelectorTerms[{i}]")


def _node_term(term: pods.NodeSelectorTerm, field: str) -> Iterator[Problem]:
    for i, expression in enumerate(term.match_expressions):
        yield from _expression(expression, f"{field}.matchExpressions[{i}]", _NODE_OPERATORS)
    for i, expression in enumerate(term.match_fields):
        if expression.key != "metadata.name":
            yield f"{field}.matchFields[{i}].key", f"{expression.key!r} is not a field of nodes; use metadata.name"
        yield from _expression(expression, f"{field}.matchFields[{i}]", ("In", "NotIn"))


def _pod_term(term: pods.PodAffinityTerm, field: str) -> Iterator[Problem]:
    if not term.topology_key:
        yield f"{field}.topologyKey", "is empty; name a node label"
    if term.label_selector:
        yield from _label_selector(term.label_selector, f"{field}.labelSelector")
    if term.namespace_selector:
        yield from _label_selector(term.namespace_selector, f"{field}.namespaceSelector")


def _spread(spread: pods.TopologySpreadConstraint, field: str) -> Iterator[Problem]:
    if spread.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        yield f"{field}.whenUnsatisfiable", f"{spread.when_unsatisfiable!r} is neither DoNotSchedule nor ScheduleAnyway"
    if spread.max_skew < 1:
        yield f"{field}.maxSkew", f"{spread.max_skew} must be 1 or more"
    if spread.min_domains < 1:
        yield f"{field}.minDomains", f"{spread.min_domains} must be 1 or more"
    policies = (("nodeAffinityPolicy", spread.node_affinity_policy), ("nodeTaintsPolicy", spread.node_taints_policy))
    for name, policy in policies:
        if policy not in ("Honor", "Ignore"):
            yield f"{field}.{name}", f"{policy!r} is neither Honor nor Ignore"
    if spread.label_selector:
        yield from _label_selector(spread.label_selector, f"{field}.labelSelector")


def _label_selector(selector: LabelSelector, field: str) -> Iterator[Problem]:
    for i, expression in enumerate(selector.match_expressions):
        yield from _expression(expression, f"{field}.matchExpressions[{i}]", _LABEL_OPERATORS)


def _expression(expression: Expression, field: str, operators: tuple[str, ...]) -> Iterator[Problem]:
    operator, values = expression.operator, expression.values
    if operator not in operators:
        yield f"{field}.operator", f"{operator!r} is none of {', '.join(operators)}"
    elif operator in ("In", "NotIn") and not values:
        yield f"{field}.values", f"is empty; {operator} needs at least one value"
    elif operator in ("Exists", "DoesNotExist") and values:
        yield f"{field}.values", f"must be empty where the operator is {operator}"
    elif operator in ("Gt", "Lt") and not (len(values) == 1 and values[0].removeprefix("-").isdecimal()):
        yield f"{field}.values", f"{operator} needs exactly one whole number"
