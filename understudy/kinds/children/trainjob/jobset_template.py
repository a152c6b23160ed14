"""A TrainJob and its runtime into the JobSet that does the work: the runtime's template, with what the job says of its
trainer, its initializers and its patches, and with the variables of the framework.
"""

import hashlib

import msgspec

from understudy.kinds.annotations import PREFIX
from understudy.kinds.children.actions import Document, owner_reference
from understudy.kinds.children.trainjob.frameworks import FRAMEWORKS, PORT, UNSUPPORTED, TrainerNodes, environment
from understudy.kinds.children.trainjob.patches import (
    POD,
    found,
    merged,
    merged_list,
    patched,
    patched_metadata,
    replaced,
)
from understudy.kinds.children.trainjob.spec import NODE, STEP, TRAINER, TrainJobObject
from understudy.kinds.pod_labels import EXCLUSIVE, NODE_SELECTOR
from understudy.model.quantity import parse_quantity
from understudy.objects.errors import BadObject, at
from understudy.objects.resources import JOB_SETS, TRAIN_JOBS

MADE_OF = f"{PREFIX}made-of"  # on the JobSet: which edition of the TrainJob it was made of
_INITIALIZERS = {"dataset": "dataset-initializer", "model": "model-initializer"}


class Unsupported(Exception):
    """The runtime is there, and cannot be run here. Says why."""


def spec_digest(document: Document) -> str:
    """Of what a TrainJob says beside whether it stands back."""
    spec = {key: value for key, value in document["spec"].items() if key != "suspend"}
    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:16]


def jobset_of(job: TrainJobObject, document: Document, runtime: Document) -> Document:
    """Raises BadObject where job and runtime do not fit together, and Unsupported where the runtime needs more than is
    here."""
    maker = _Maker(job, document["spec"], runtime)
    return {
        "apiVersion": JOB_SETS.api_version,
        "kind": JOB_SETS.kind,
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            **maker.marks(),
            "ownerReferences": [owner_reference(TRAIN_JOBS.api_version, TRAIN_JOBS.kind, job.metadata)],
        },
        "spec": {**maker.template, "replicatedJobs": maker.groups(), "suspend": job.spec.suspend},
    }


class _Maker:
    def __init__(self, job: TrainJobObject, spec: Document, runtime: Document) -> None:
        self._job = job
        self._spec = spec
        self._trainer: Document = spec.get("trainer") or {}
        self._policy: Document = found(runtime, "spec", "mlPolicy")
        self._marks: Document = found(runtime, "spec", "template", "metadata")
        self.template: Document = found(runtime, "spec", "template", "spec")
        self._runtime = f"{runtime['kind']} {runtime['metadata']['name']}"
        for framework in UNSUPPORTED:
            if framework in self._policy:
                raise Unsupported(
                    f"{self._runtime} has spec.mlPolicy.{framework}, which this cluster cannot run; "
                    f"take a runtime with one of {', '.join(FRAMEWORKS)}, or with none of them"
                )

    def marks(self) -> Document:
        """Labels and annotations. What the job says about its placement goes along."""
        own = self._job.metadata.annotations
        placed = {key: own[key] for key in (EXCLUSIVE, NODE_SELECTOR) if key in own}
        annotations = {
            **(self._marks.get("annotations") or {}),
            **patched_metadata(self._spec, "annotations"),
            **placed,
        }
        labels = {**(self._marks.get("labels") or {}), **patched_metadata(self._spec, "labels")}
        return {"labels": labels, "annotations": {**annotations, MADE_OF: spec_digest({"spec": self._spec})}}

    def groups(self) -> list[Document]:
        groups: list[Document] = self.template.get("replicatedJobs") or []
        self._check(groups)
        groups = patched(groups, self._spec, self._job.title)
        return [self._trained(self._initialized(group)) for group in groups]

    def _check(self, groups: list[Document]) -> None:
        steps = {_step(group) for group in groups}
        if TRAINER not in steps:
            field = "spec.template.spec.replicatedJobs"
            words = f"none of them is called {NODE!r} or has the label {STEP}: {TRAINER}"
            raise BadObject(self._runtime, field, words)
        for part, step in _INITIALIZERS.items():
            if found(self._spec, "initializer", part) and step not in steps:
                words = f"{self._runtime} has no replicated job with the label {STEP}: {step}"
                raise BadObject(self._job.title, f"spec.initializer.{part}", words)

    def _initialized(self, group: Document) -> Document:
        """With what the job says of where the data and the model come from."""
        for part, step in _INITIALIZERS.items():
            given = found(self._spec, "initializer", part)
            if _step(group) != step or not given:
                continue
            uri = [{"name": "STORAGE_URI", "value": given["storageUri"]}] if given.get("storageUri") else []
            change: Document = {"env": [*uri, *(given.get("env") or ())]}
            container = _container(group, step)
            if secret := given.get("secretRef"):
                change["envFrom"] = [*(container.get("envFrom") or ()), {"secretRef": secret}]
            group = _with_container(group, container, change)
        return group

    def _trained(self, group: Document) -> Document:
        if _step(group) != TRAINER:
            return group
        nodes = self._trainer.get("numNodes")
        nodes = self._policy.get("numNodes", 1) if nodes is None else nodes
        group = replaced({**group, "replicas": 1}, ("template", "spec", "parallelism"), nodes)
        group = replaced(group, ("template", "spec", "completions"), nodes)
        container = _container(group, NODE)
        change = {key: self._trainer[key] for key in ("image", "command", "args") if self._trainer.get(key)}
        resources = self._resources(container)
        name = self._job.metadata.name
        leader = f"{name}-{group['name']}-0-0.{found(self.template, 'network').get('subdomain') or name}"
        variables = self._variables(TrainerNodes(leader, nodes, self._trainer.get("numProcPerNode"), resources))
        change |= {"env": [*(self._trainer.get("env") or ()), *variables], "resources": resources}
        if variables:
            change["ports"] = _with_port(container.get("ports") or [])
        return _with_container(group, container, change)

    def _resources(self, container: Document) -> Document:
        given = _written(self._trainer.get("resourcesPerNode") or {})
        both = merged(container.get("resources") or {}, given)
        for kind in ("limits", "requests"):
            for name, amount in found(both, kind).items():
                try:
                    parse_quantity(amount, name)
                except ValueError as error:
                    if name in found(given, kind):
                        field = f"spec.trainer.resourcesPerNode.{kind}"
                        raise BadObject(self._job.title, at(field, name), str(error)) from None
                    field = f"spec.template, container {container['name']!r}, resources.{kind}"
                    raise BadObject(self._runtime, at(field, name), str(error)) from None
        return both

    def _variables(self, nodes_info: TrainerNodes) -> list[Document]:
        framework = next((name for name in FRAMEWORKS if name in self._policy), "")
        if not framework:
            return []
        variables = environment(framework, nodes_info)
        given = self._trainer.get("env") or ()
        reserved = sorted({each["name"] for each in given} & {each["name"] for each in variables})
        if reserved:
            words = f"{', '.join(reserved)} is set for {framework} by itself; take it out"
            raise BadObject(self._job.title, "spec.trainer.env", words)
        return variables


def _step(group: Document) -> str:
    label: str = (found(group, "template", "metadata").get("labels") or {}).get(STEP, "")
    return label or (TRAINER if group["name"] == NODE else "")


def _container(group: Document, name: str) -> Document:
    """The one of this name, else the first."""
    containers: list[Document] = found(group, *POD).get("containers") or [{"name": name}]
    return next((each for each in containers if each["name"] == name), containers[0])


def _with_container(group: Document, container: Document, change: Document) -> Document:
    containers: list[Document] = found(group, *POD).get("containers") or []
    new = merged(container, change)
    return replaced(group, (*POD, "containers"), merged_list("containers", containers, [new]))


def _with_port(ports: list[Document]) -> list[Document]:
    return ports if any(each.get("containerPort") == PORT for each in ports) else [*ports, {"containerPort": PORT}]


def _written(resources: Document) -> Document:
    """Amounts as text: clients send numbers, even 1.0."""
    return {key: _amounts(value) if key in ("limits", "requests") else value for key, value in resources.items()}


def _amounts(given: Document) -> Document:
    return {name: str(int(n) if isinstance(n, float) and n.is_integer() else n) for name, n in given.items()}
