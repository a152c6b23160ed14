"""Pod specs into Shapes. Pods of one template get one and the same Shape, found by the few fields that make it."""

from collections.abc import Mapping
from operator import attrgetter

import msgspec

from understudy.model.gangs import HostPort, PodTerm, Shape
from understudy.model.nodes import CapacityPolicy, Toleration, is_accelerator
from understudy.model.selectors import NodeTerm
from understudy.objects.cluster_objects import Namespace
from understudy.objects.pods import PodAffinityTerm, PodSpec, PodToleration
from understudy.objects.resource_requests import requests_of
from understudy.objects.selectors import label_key_requirements, node_term_of, node_terms_of, selector_of, spread_of
from understudy.objects.volumes import ClaimNeeds, Storage, claim_needs

_encode = msgspec.msgpack.Encoder().encode


class PodIdentity(msgspec.Struct, frozen=True, gc=False):
    """Whose spec it is: terms about neighbours depend on that."""

    namespace: str
    labels: Mapping[str, str]


class Surroundings(Storage):
    """The objects besides pods and nodes that change what a pod asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.namespaces: dict[str, Namespace] = {}


_of_template = attrgetter(
    "containers", "tolerations", "node_selector", "init_containers", "overhead", "resources", "host_network",
    "resource_claims",
)  # fmt: skip


_NOTHING = ClaimNeeds()


class ShapeCache:
    """A book of shapes: made once for each spec, then found. `forget` when the surroundings changed; claims and volumes
    need no telling, since what a pod needs of them is part of what its shape is found by."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        self.surroundings = surroundings or Surroundings()
        self._by_spec: dict[bytes, Shape] = {}
        # By the identity of the containers, which decoding lets pods of one template share, with all else that counts.
        self._by_containers: dict[int, tuple[tuple[object, ...], Shape]] = {}
        self._by_value: dict[Shape, Shape] = {}
        self._lean: dict[tuple[Shape, str, bool], Shape] = {}
        self._by_capacity: dict[tuple[Shape, CapacityPolicy], Shape] = {}

    def forget(self) -> None:
        self._by_spec.clear()
        self._by_containers.clear()
        self._by_value.clear()
        self._lean.clear()
        self._by_capacity.clear()

    def of(self, spec: PodSpec, namespace: str, name: str, labels: Mapping[str, str]) -> Shape:
        own = (
            spec.affinity or spec.volumes or spec.topology_spread_constraints
        )  # these depend on the labels and claims of the pod
        known = self._by_containers.get(id(spec.containers))
        if known is not None and not own and known[0] == _of_template(spec):  # nothing is encoded: the quickest way
            return known[1]
        asked = claim_needs(spec, namespace, name, self.surroundings) if spec.volumes else _NOTHING
        key = _encode(_shape_key(spec, namespace, labels, asked))
        shape = self._by_spec.get(key)
        if shape is None:
            made = _shape_of(spec, PodIdentity(namespace, labels), self.surroundings, asked)
            shape = self._by_spec[key] = self._shared(made)
        if not own:
            self._by_containers[id(spec.containers)] = (_of_template(spec), shape)
        return shape

    def without_injected(self, shape: Shape, topology_key: str, label: str, follower: bool) -> Shape:
        """The shape without what JobSet added to keep others out of a domain: the island's topology says the same."""
        known = self._lean.get((shape, topology_key, follower))
        if known is None:
            lean = _without_injected(shape, topology_key, label, follower)
            known = self._lean[shape, topology_key, follower] = self._shared(lean)
        return known

    def with_capacity(self, shape: Shape, capacity: CapacityPolicy) -> Shape:
        """One and the same shape for all pods of a template that may sit on this kind of capacity."""
        known = self._by_capacity.get((shape, capacity))
        if known is None:
            known = self._shared(msgspec.structs.replace(shape, capacity=capacity))
            self._by_capacity[shape, capacity] = known
        return known

    def _shared(self, shape: Shape) -> Shape:
        return self._by_value.setdefault(shape, shape)


def _is_plain(spec: PodSpec) -> bool:
    """Whether containers, tolerations and node selector are all there is to it."""
    return not (
        spec.affinity or spec.volumes or spec.init_containers or spec.topology_spread_constraints or spec.overhead
        or spec.resources or spec.host_network or spec.resource_claims
    )  # fmt: skip


def _shape_key(spec: PodSpec, namespace: str, labels: Mapping[str, str], asked: ClaimNeeds) -> tuple[object, ...]:
    """What makes the shape. Labels only count where a term looks at them."""
    plain = (spec.containers, spec.tolerations, spec.node_selector)
    if _is_plain(spec):
        return plain
    own = (namespace, labels) if spec.affinity or spec.topology_spread_constraints else ()
    rest = (spec.init_containers, spec.overhead, spec.resources, spec.affinity, spec.topology_spread_constraints)
    return (plain, rest, asked, own, spec.host_network, spec.resource_claims)


def _shape_of(spec: PodSpec, sitter: PodIdentity, around: Surroundings, asked: ClaimNeeds) -> Shape:
    requests = requests_of(spec)
    words: list[str] = []
    node, affinity, anti, leaning = _affinities(spec, sitter, around, words)
    words += asked.words
    if spec.resource_claims:
        words.append("resource claims (dynamic resource allocation) are not supported")
    return Shape(
        requests=requests,
        accelerators=sum(amount for resource, amount in requests if is_accelerator(resource)),
        required=node,
        selector=tuple(sorted(spec.node_selector.items())),
        volumes=asked.reach,
        unmade=asked.unprovisioned,
        tolerations=tuple(_toleration(t) for t in spec.tolerations),
        preferred=_preferred_nodes(spec),
        affinity=affinity,
        anti_affinity=anti,
        preferred_affinity=leaning,
        spreads=tuple(spread_of(c, sitter.labels) for c in spec.topology_spread_constraints),
        host_ports=_host_ports(spec),
        unsupported=tuple(dict.fromkeys(words)),
    )


def _toleration(toleration: PodToleration) -> Toleration:
    return Toleration(toleration.key, toleration.operator or "Equal", toleration.value, toleration.effect)


def _preferred_nodes(spec: PodSpec) -> tuple[tuple[int, NodeTerm], ...]:
    affinity = spec.affinity and spec.affinity.node_affinity
    return tuple((p.weight, node_term_of(p.preference)) for p in affinity.preferred) if affinity else ()


def _affinities(
    spec: PodSpec, sitter: PodIdentity, around: Surroundings, words: list[str]
) -> tuple[tuple[NodeTerm, ...], tuple[PodTerm, ...], tuple[PodTerm, ...], tuple[tuple[int, PodTerm], ...]]:
    """(required node terms, required affinity, required anti-affinity, preferred both ways)"""
    if spec.affinity is None:
        return (), (), (), ()
    nodes, near, far = spec.affinity.node_affinity, spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity

    def term(given: PodAffinityTerm) -> PodTerm:
        return _pod_term(given, sitter, around, words)

    leaning = [(w.weight, term(w.pod_affinity_term)) for w in (near.preferred if near else ())]
    leaning += [(-w.weight, term(w.pod_affinity_term)) for w in (far.preferred if far else ())]
    return (
        node_terms_of(nodes.required) if nodes and nodes.required else (),
        tuple(term(t) for t in near.required) if near else (),
        tuple(term(t) for t in far.required) if far else (),
        tuple(leaning),
    )


def _pod_term(term: PodAffinityTerm, sitter: PodIdentity, around: Surroundings, words: list[str]) -> PodTerm:
    own = label_key_requirements(term.match_label_keys, "In", sitter.labels)
    own += label_key_requirements(term.mismatch_label_keys, "NotIn", sitter.labels)
    selector = selector_of(term.label_selector, own)
    wanted = selector_of(term.namespace_selector)
    if wanted is None:
        return PodTerm(term.topology_key, selector, tuple(sorted(term.namespaces)) or (sitter.namespace,))
    if not wanted.requirements:
        return PodTerm(term.topology_key, selector, every_namespace=True)
    if not around.namespaces:
        words.append("a namespaceSelector needs the Namespace objects, and none are known")
    named = {n for n, namespace in around.namespaces.items() if wanted.matches(namespace.metadata.labels)}
    return PodTerm(term.topology_key, selector, tuple(sorted(named | set(term.namespaces))))


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """On the host's network every container port is a port of the host."""
    sidecars = (c for c in spec.init_containers if c.restart_policy == "Always")
    ports = {
        HostPort(number, port.protocol, port.host_ip if port.host_ip not in ("", "::") else "0.0.0.0")
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if (number := port.host_port or (port.container_port if spec.host_network else 0))
    }
    return tuple(sorted(ports, key=lambda p: (p.port, p.protocol, p.ip)))


def _without_injected(shape: Shape, topology_key: str, label: str, follower: bool) -> Shape:
    def kept(terms: tuple[PodTerm, ...]) -> tuple[PodTerm, ...]:
        return tuple(t for t in terms if not (t.topology_key == topology_key and _mentions(t, label)))

    selector = tuple(pair for pair in shape.selector if not (follower and pair[0] == topology_key))
    return msgspec.structs.replace(
        shape, affinity=kept(shape.affinity), anti_affinity=kept(shape.anti_affinity), selector=selector
    )


def _mentions(term: PodTerm, label: str) -> bool:
    return term.selector is not None and any(r.key == label for r in term.selector.requirements)
