"""The claims of a pod: the nodes that reach their volumes, and the volumes that are provisioned for the pod's node."""

from typing import NamedTuple

import msgspec

from understudy.model.selectors import NodeTerm, Requirement
from understudy.objects.cluster_objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from understudy.objects.pods import PodSpec, Volume
from understudy.objects.selectors import node_terms_of

# On a claim: the node for which its volume is to be made. The provisioner of its class waits for it, and takes it
# off again where none can be made there.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"  # makes the volumes of a class whose volumes are there beforehand

Terms = tuple[NodeTerm, ...]


class Storage:
    """Claims, volumes, and classes of them."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.complete = False  # whether a claim that is not here does not exist

    @property
    def is_known(self) -> bool:
        """Files that have neither claims nor classes, as many a dump, say nothing about claims."""
        return self.complete or bool(self.claims or self.classes)

    def claims_on(self, volume: str) -> list[tuple[str, str]]:
        return [name for name, claim in self.claims.items() if claim.spec.volume_name == volume]

    def class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        name = claim.spec.storage_class_name
        if name is not None:
            return self.classes.get(name)
        defaults = (one for one in self.classes.values() if one.metadata.annotations.get(DEFAULT_CLASS) == "true")
        return next(defaults, None)


class NamedClaim(NamedTuple):
    """A claim that a pod names."""

    name: str
    claim: PersistentVolumeClaim | None  # None: it is not there, or not yet
    own: bool  # it comes and goes with the pod

    @property
    def node(self) -> str | None:
        """For which its volume is to be made; '' if it is not set yet, None if the claim does not exist."""
        return None if self.claim is None else self.claim.metadata.annotations.get(SELECTED_NODE, "")

    @property
    def is_unmade(self) -> bool:
        """Whether there is no volume for it yet."""
        return self.claim is None or not self.claim.spec.volume_name


class ClaimNeeds(msgspec.Struct, frozen=True, gc=False):
    """What the claims of a pod ask of its seat."""

    reach: tuple[Terms, ...] = ()  # for each volume, where it can be reached or made
    unprovisioned: tuple[
        tuple[str, str | None], ...
    ] = ()  # claims whose volume is made with the seat, and the node they name
    words: tuple[str, ...] = ()  # problems that no scheduler can solve


def claim_needs(spec: PodSpec, namespace: str, name: str, storage: Storage) -> ClaimNeeds:
    words: list[str] = []
    claims = _claims(spec, namespace, name, storage)
    reach = tuple(terms for one in claims if (terms := _reach(one, namespace, storage, words)))
    waiting = () if spec.node_name else tuple((one.name, one.node) for one in claims if one.is_unmade)
    return ClaimNeeds(reach, waiting, tuple(words))


def unprovisioned_claims(spec: PodSpec, namespace: str, name: str, storage: Storage) -> list[NamedClaim]:
    """The claims of a pod without a seat whose volumes are made only when it is known where the pod is to be."""
    return [] if spec.node_name else [one for one in _claims(spec, namespace, name, storage) if one.is_unmade]


def claim_names(spec: PodSpec, pod: str) -> set[str]:
    return {name for volume in spec.volumes if (name := _claim_name(volume, pod))}


def _claims(spec: PodSpec, namespace: str, pod: str, storage: Storage) -> list[NamedClaim]:
    """Without those of its own of a pod that has its seat: its replacement gets new ones."""
    found = []
    for volume in spec.volumes if storage.is_known else ():
        own = volume.ephemeral is not None
        if (name := _claim_name(volume, pod)) and not (own and spec.node_name):
            found.append(NamedClaim(name, storage.claims.get((namespace, name)), own))
    return found


def _claim_name(volume: Volume, pod: str) -> str:
    if volume.persistent_volume_claim:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral else ""


def _reach(one: NamedClaim, namespace: str, storage: Storage, words: list[str]) -> Terms:
    title, claim = f"PersistentVolumeClaim {namespace}/{one.name}", one.claim
    if claim is None:
        if not one.own:
            words.append(f"{title} does not exist")
        return ()
    if "ReadWriteOncePod" in claim.spec.access_modes:
        words.append(f"{title} is ReadWriteOncePod, which is not supported")
    bound = claim.spec.volume_name
    if not bound:
        return _reach_to_be(claim, title, storage, words)
    volume = storage.volumes.get(bound)
    if volume is None:
        words.append(f"{title} is bound to {bound}, which is not known; where its volume can be reached is not known")
        return ()
    affinity = volume.spec.node_affinity
    return node_terms_of(affinity.required) if affinity and affinity.required else ()


def _reach_to_be(claim: PersistentVolumeClaim, title: str, storage: Storage, words: list[str]) -> Terms:
    """Of a volume that is not there yet."""
    made_by = storage.class_of(claim)
    if made_by is None or made_by.volume_binding_mode != FIRST_CONSUMER:
        words.append(f"{title} is not bound; where its volume can be reached is not known")
        return ()
    if made_by.provisioner == NO_PROVISIONER:
        name = made_by.metadata.name
        words.append(f"{title} is not bound, and the class {name} has no provisioner: name a volume as its volumeName")
        return ()
    return tuple(
        NodeTerm(tuple(Requirement(one.key, "In", one.values) for one in term.match_label_expressions))
        for term in made_by.allowed_topologies
    )
