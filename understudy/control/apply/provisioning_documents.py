"""A gang that waits for machines as documents: a ProvisioningRequest and the PodTemplates that it names.

Templates say only what a pod requires of a node, so that the same needs give the same documents, whether the pods exist
or their job is suspended."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import msgspec

from understudy.decide.guards import PREEMPTION_BUDGET
from understudy.decide.preemption_delay import PREEMPTION_DELAY
from understudy.model.gangs import Gang, Member, PodTerm, Shape, SpreadConstraint
from understudy.model.nodes import Verdict
from understudy.model.plans import WaitCode, WaitReason
from understudy.model.selectors import NodeTerm, Requirement, Selector
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject
from understudy.objects.resources import POD_TEMPLATES, PROVISIONING_REQUESTS, Resource

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"  # on a pod: its request; no autoscaler acts on the pod
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
NAME_START = "understudy-"
SCHEDULER = "understudy.dev/scheduler"  # a label: which scheduler asked
MAX_POD_SETS = 32  # the limit of the API
_LONGEST_NAME = 40
_NO_MACHINES = (WaitCode.NO_ROOM, WaitCode.BLOCKED_DOMAINS, WaitCode.NO_REPLACEMENT)
_GUARDS = (PREEMPTION_DELAY, PREEMPTION_BUDGET)  # those that end when machines come; the others keep a gang from any
Document = dict[str, Any]


class AutoscalerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    provisioning_class: str = ""  # the class of the requests; '': none are made
    parameters: dict[str, str] = {}  # of the requests, as the class knows them
    retry_after: float = 600.0  # seconds before a request that failed is made again

    def problem(self) -> str:
        """What is wrong with these, as `key: words`; nothing: ''."""
        if self.retry_after <= 0:
            return f"retryAfter: {self.retry_after:g} is not positive"
        if self.parameters and not self.provisioning_class:
            return "parameters: without provisioningClass no request is made that could have them"
        return ""


class MachineNeed(msgspec.Struct, frozen=True):
    """The machines that one gang lacks. Equal needs of one job have one name."""

    namespace: str
    name: str  # of its requests, without the number of the attempt
    owner: Mapping[str, str]
    templates: tuple[tuple[int, Document], ...]  # so many pods of each template
    members: frozenset[str]

    def request_name(self, attempt: int) -> str:
        return f"{self.name}-{attempt}"

    def pod_templates(self, attempt: int) -> list[Document]:
        return [
            {**self._head(POD_TEMPLATES, f"{self.request_name(attempt)}-{number}"), "template": template}
            for number, (_, template) in enumerate(self.templates)
        ]

    def request(self, attempt: int, settings: AutoscalerSettings, scheduler: str) -> Document:
        found = self._head(PROVISIONING_REQUESTS, self.request_name(attempt))
        found["metadata"]["labels"] = {SCHEDULER: scheduler}
        found["spec"] = {
            "provisioningClassName": settings.provisioning_class,
            "podSets": [
                {"podTemplateRef": {"name": template["metadata"]["name"]}, "count": count}
                for template, (count, _) in zip(self.pod_templates(attempt), self.templates, strict=True)
            ],
            **({"parameters": dict(settings.parameters)} if settings.parameters else {}),
        }
        return found

    def _head(self, resource: Resource, name: str) -> Document:
        metadata = {"name": name, "namespace": self.namespace, "ownerReferences": [dict(self.owner)]}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def waits_for_machines(reason: WaitReason) -> bool:
    if reason.code is WaitCode.GUARDED:
        return reason.guard.startswith(_GUARDS)
    return reason.code in _NO_MACHINES


def machine_need(gang: Gang, snapshot: Snapshot, owner: KubeObject) -> MachineNeed | None:
    """None: the gang has all the seats it needs to run."""
    lacking = _lacking(gang, snapshot)
    if not lacking:
        return None
    templates = _templates(gang, lacking)
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
    }
    told = msgspec.json.encode([gang.key, reference, templates], order="deterministic")
    stem = gang.name.lower()[:_LONGEST_NAME].strip(".-")
    name = f"{NAME_START}{stem}-{hashlib.sha256(told).hexdigest()[:10]}"
    return MachineNeed(gang.namespace, name, reference, templates, frozenset(m.name for m in lacking))


def _lacking(gang: Gang, snapshot: Snapshot) -> list[Member]:
    """The members that need a machine so that the gang can run. An island that works only whole needs one for each."""
    sound = {m.name for m in gang.seated() if not _goes(m.node, snapshot)}
    lacking = [m.name for m in gang.members() if m.name not in sound][: max(0, gang.minimum - len(sound))]
    wanted = set(lacking)
    for island in gang.islands:
        if island.topology is not None and island.topology.binding and any(m.name in wanted for m in island.members):
            wanted.update(m.name for m in island.members)
    return [m for m in gang.members() if m.name in wanted]


def _goes(node: str, snapshot: Snapshot) -> bool:
    info = snapshot.nodes.get(node)
    return info is None or info.node.health.verdict in (Verdict.LOST, Verdict.LEAVING)


def _templates(gang: Gang, members: Iterable[Member]) -> tuple[tuple[int, Document], ...]:
    alike: dict[Shape, list[Member]] = defaultdict(list)
    for member in members:
        alike[member.shape].append(member)
    asked = {key for member in gang.members() for key in _label_keys(member.shape)} if _has_rules(alike) else set()
    found = [(len(ones), _template(shape, ones, gang.priority, asked)) for shape, ones in alike.items()]
    return tuple(sorted(found, key=lambda one: msgspec.json.encode(one[1], order="deterministic")))


def _has_rules(shapes: Iterable[Shape]) -> bool:
    return any(shape.has_inter_pod_rules for shape in shapes)


def _label_keys(shape: Shape) -> Iterator[str]:
    rules: tuple[PodTerm | SpreadConstraint, ...] = (*shape.affinity, *shape.anti_affinity, *shape.spreads)
    for rule in rules:
        if rule.selector is not None:
            yield from (requirement.key for requirement in rule.selector.requirements)


def _template(shape: Shape, members: list[Member], priority: int, asked: set[str]) -> Document:
    """Labels only where a rule asks for them: others differ between pods of one template, and change with each run."""
    first, *others = [member.labels for member in members]
    labels = {k: v for k, v in first.items() if k in asked and all(other.get(k) == v for other in others)}
    spec: Document = {"priority": priority, "containers": [_container(shape)]}
    if shape.selector:
        spec["nodeSelector"] = dict(shape.selector)
    if shape.tolerations:
        spec["tolerations"] = [_filled(msgspec.to_builtins(toleration)) for toleration in shape.tolerations]
    if affinity := _affinity(shape):
        spec["affinity"] = affinity
    if spreads := [_spread(spread) for spread in shape.spreads if spread.hard]:
        spec["topologySpreadConstraints"] = spreads
    return {**({"metadata": {"labels": labels}} if labels else {}), "spec": spec}


def _container(shape: Shape) -> Document:
    """One container that asks for all that the pod asks for. It is never run. Extended resources need limits, too."""
    requests = {name: f"{n}m" if name == "cpu" else str(n) for name, n in shape.requests if name != "pods"}
    limits = {name: amount for name, amount in requests.items() if "/" in name or name.startswith("hugepages-")}
    ports = [
        {"containerPort": one.port, "hostPort": one.port, "protocol": one.protocol, "hostIP": one.ip}
        for one in shape.host_ports
    ]
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"name": "main", "image": "never-run", "resources": resources, **({"ports": ports} if ports else {})}


def _affinity(shape: Shape) -> Document:
    found: Document = {}
    groups = [terms for terms in (shape.required, *shape.volumes) if terms]
    if groups:
        terms = [_node_term(together) for together in product(*groups)]
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    for name, rules in (("podAffinity", shape.affinity), ("podAntiAffinity", shape.anti_affinity)):
        if rules:
            found[name] = {"requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(rule) for rule in rules]}
    return found


def _node_term(together: tuple[NodeTerm, ...]) -> Document:
    """One term that holds where all of these hold: what the pod requires, and where each of its volumes is."""
    labels = [_requirement(one) for term in together for one in term.labels]
    fields = [_requirement(one) for term in together for one in term.fields]
    return _filled({"matchExpressions": labels, "matchFields": fields})


def _pod_term(term: PodTerm) -> Document:
    where: Document = {"namespaceSelector": {}} if term.every_namespace else {"namespaces": list(term.namespaces)}
    return {"topologyKey": term.topology_key, **_label_selector(term.selector), **where}


def _spread(spread: SpreadConstraint) -> Document:
    return {
        "topologyKey": spread.topology_key,
        "maxSkew": spread.max_skew,
        "whenUnsatisfiable": "DoNotSchedule",
        **_label_selector(spread.selector),
        **({"minDomains": spread.min_domains} if spread.min_domains > 1 else {}),
        "nodeAffinityPolicy": "Honor" if spread.honor_affinity else "Ignore",
        "nodeTaintsPolicy": "Honor" if spread.honor_taints else "Ignore",
    }


def _label_selector(selector: Selector | None) -> Document:
    if selector is None:
        return {}
    return {"labelSelector": _filled({"matchExpressions": [_requirement(one) for one in selector.requirements]})}


def _requirement(requirement: Requirement) -> Document:
    return _filled({"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)})


def _filled(fields: Document) -> Document:
    return {name: value for name, value in fields.items() if value}
