"""PersistentVolumeClaims: requests for storage."""

from typing import Annotated

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import (
    ApiStruct,
    KubeObject,
    LabelSelector,
    ObjectMeta,
    TypedLocalObjectReference,
    TypedObjectReference,
)
from understudy.embedded.schema.types.values import (
    AccessMode,
    Maybe,
    NonEmpty,
    Quantities,
    Time,
    VolumeMode,
    keyed,
)


class VolumeResourceRequirements(ApiStruct):
    """How much storage is asked for."""

    limits: Maybe[Quantities] = UNSET
    requests: Maybe[Quantities] = UNSET


class PersistentVolumeClaimSpec(ApiStruct):
    """What storage is asked for."""

    access_modes: Maybe[list[AccessMode]] = UNSET
    data_source: Maybe[TypedLocalObjectReference] = UNSET
    data_source_ref: Maybe[TypedObjectReference] = UNSET
    resources: VolumeResourceRequirements = field(default_factory=VolumeResourceRequirements)
    selector: Maybe[LabelSelector] = UNSET
    storage_class_name: Maybe[str] = UNSET
    volume_attributes_class_name: Maybe[str] = UNSET
    volume_mode: VolumeMode = "Filesystem"
    volume_name: Maybe[str] = UNSET


class PersistentVolumeClaimTemplate(ApiStruct):
    """A claim to be made."""

    spec: PersistentVolumeClaimSpec
    metadata: Maybe[ObjectMeta] = UNSET


class PersistentVolumeClaimCondition(ApiStruct):
    """One thing that is true, false or unknown about a claim."""

    type: NonEmpty
    status: str
    last_probe_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class ModifyVolumeStatus(ApiStruct):
    """How a change of the volume's class is going."""

    status: str
    target_volume_attributes_class_name: Maybe[str] = UNSET


class PersistentVolumeClaimStatus(ApiStruct):
    """What the claim has got."""

    access_modes: Maybe[list[AccessMode]] = UNSET
    allocated_resource_statuses: Maybe[dict[str, str]] = UNSET
    allocated_resources: Maybe[Quantities] = UNSET
    capacity: Maybe[Quantities] = UNSET
    conditions: Annotated[Maybe[list[PersistentVolumeClaimCondition]], keyed("type")] = UNSET
    current_volume_attributes_class_name: Maybe[str] = UNSET
    modify_volume_status: Maybe[ModifyVolumeStatus] = UNSET
    phase: Maybe[str] = UNSET


class PersistentVolumeClaim(KubeObject, kw_only=True):
    """A request for storage; in the embedded cluster it gets a folder."""

    api_version: str = "v1"
    kind: str = "PersistentVolumeClaim"
    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = field(default_factory=PersistentVolumeClaimStatus)
