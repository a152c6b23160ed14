"""PersistentVolumes. The sources of storage products are kept as they are: claims get folders of this machine."""

from typing import Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import (
    ApiStruct,
    KubeObject,
    ObjectReference,
)
from understudy.embedded.schema.types.scheduling import NodeSelector
from understudy.embedded.schema.types.values import (
    AccessMode,
    Maybe,
    NonEmpty,
    Opaque,
    Quantities,
    Time,
    VolumeMode,
)
from understudy.embedded.schema.types.volumes import HostPathVolumeSource


class LocalVolumeSource(ApiStruct):
    """A disk or folder of one node."""

    path: NonEmpty
    fs_type: Maybe[str] = UNSET


class VolumeNodeAffinity(ApiStruct):
    """The nodes that can reach the volume."""

    required: Maybe[NodeSelector] = UNSET


class PersistentVolumeSpec(ApiStruct):
    """The storage, and the claim that is bound to it."""

    capacity: Quantities
    access_modes: Maybe[list[AccessMode]] = UNSET
    aws_elastic_block_store: Maybe[Opaque] = UNSET
    azure_disk: Maybe[Opaque] = UNSET
    azure_file: Maybe[Opaque] = UNSET
    cephfs: Maybe[Opaque] = UNSET
    cinder: Maybe[Opaque] = UNSET
    claim_ref: Maybe[ObjectReference] = UNSET
    csi: Maybe[Opaque] = UNSET
    fc: Maybe[Opaque] = UNSET
    flex_volume: Maybe[Opaque] = UNSET
    flocker: Maybe[Opaque] = UNSET
    gce_persistent_disk: Maybe[Opaque] = UNSET
    glusterfs: Maybe[Opaque] = UNSET
    host_path: Maybe[HostPathVolumeSource] = UNSET
    iscsi: Maybe[Opaque] = UNSET
    local: Maybe[LocalVolumeSource] = UNSET
    mount_options: Maybe[list[str]] = UNSET
    nfs: Maybe[Opaque] = UNSET
    node_affinity: Maybe[VolumeNodeAffinity] = UNSET
    persistent_volume_reclaim_policy: Literal["Delete", "Recycle", "Retain"] = "Retain"
    photon_persistent_disk: Maybe[Opaque] = UNSET
    portworx_volume: Maybe[Opaque] = UNSET
    quobyte: Maybe[Opaque] = UNSET
    rbd: Maybe[Opaque] = UNSET
    scale_io: Maybe[Opaque] = UNSET
    storage_class_name: Maybe[str] = UNSET
    storageos: Maybe[Opaque] = UNSET
    volume_attributes_class_name: Maybe[str] = UNSET
    volume_mode: VolumeMode = "Filesystem"
    vsphere_volume: Maybe[Opaque] = UNSET


class PersistentVolumeStatus(ApiStruct):
    """Whether the storage is free, bound or released."""

    last_phase_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    phase: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class PersistentVolume(KubeObject, kw_only=True):
    """Storage that can be claimed."""

    api_version: str = "v1"
    kind: str = "PersistentVolume"
    spec: PersistentVolumeSpec
    status: PersistentVolumeStatus = field(default_factory=PersistentVolumeStatus)
