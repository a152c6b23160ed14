"""PersistentVolumeClaims and PersistentVolumes: first status, checks, and immutable fields."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.claims import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
)
from understudy.embedded.schema.types.persistent_volumes import (
    PersistentVolume,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
)
from understudy.embedded.schema.types.values import amount_of
from understudy.embedded.schema.validation import containers, selectors
from understudy.embedded.schema.validation.metadata import alike

_PLAIN_FIELDS = {
    "capacity",
    "access_modes",
    "claim_ref",
    "mount_options",
    "node_affinity",
    "persistent_volume_reclaim_policy",
    "storage_class_name",
    "volume_attributes_class_name",
    "volume_mode",
}
_SOURCES = tuple(name for name in PersistentVolumeSpec.__struct_fields__ if name not in _PLAIN_FIELDS)


def begin_claim(claim: PersistentVolumeClaim, _: Lookup) -> None:
    claim.status = PersistentVolumeClaimStatus(phase="Pending")


def check_claim(claim: PersistentVolumeClaim) -> Iterator[Cause]:
    spec = claim.spec
    if not spec.access_modes:
        yield causes.required("spec.accessModes", "at least 1 access mode is required")
    storage = (spec.resources.requests or {}).get("storage")
    if storage is None:
        yield causes.required("spec.resources[storage]")
    elif amount_of(storage) <= 0:
        yield causes.bad_value("spec.resources[storage]", storage, "must be greater than zero")
    yield from selectors.label_selector(spec.selector, "spec.selector")


def changed_claim(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> Iterator[Cause]:
    loose = {"resources", "volumeAttributesClassName"} | (set() if old.spec.volume_name else {"volumeName"})
    if not alike(_without(new.spec, loose), _without(old.spec, loose)):
        yield causes.not_allowed(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        )
    before, after = ((one.spec.resources.requests or {}).get("storage", "0") for one in (old, new))
    if amount_of(after) < amount_of(before):
        yield causes.not_allowed("spec.resources.requests.storage", "field can not be less than status.capacity")


def _without(spec: PersistentVolumeClaimSpec, names: set[str]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(spec, enc_hook=str)
    return {name: value for name, value in plain.items() if name not in names}


def begin_volume(volume: PersistentVolume, _: Lookup) -> None:
    volume.status = PersistentVolumeStatus(phase="Pending")


def check_volume(volume: PersistentVolume) -> Iterator[Cause]:
    spec = volume.spec
    if not spec.access_modes:
        yield causes.required("spec.accessModes")
    if "storage" not in spec.capacity:
        yield causes.required("spec.capacity[storage]")
    yield from containers.quantities(spec.capacity, "spec.capacity")
    given = [name for name in _SOURCES if getattr(spec, name) is not UNSET]
    if not given:
        yield causes.required("spec", "must specify a volume type")
    elif len(given) > 1:
        yield causes.not_allowed("spec", "may not specify more than 1 volume type")
    if spec.host_path and ".." in spec.host_path.path.split("/"):
        yield causes.bad_value("spec.hostPath.path", spec.host_path.path, "must not contain '..'")
    if spec.node_affinity and spec.node_affinity.required:
        yield from selectors.node_selector(spec.node_affinity.required, "spec.nodeAffinity.required")


def changed_volume(new: PersistentVolume, old: PersistentVolume) -> Iterator[Cause]:
    if any(not alike(getattr(new.spec, name), getattr(old.spec, name)) for name in _SOURCES):
        yield causes.not_allowed(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
