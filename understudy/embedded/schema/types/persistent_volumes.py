"""PersistentVolumes: storage that a cluster has, with every kind of source Kubernetes has for it."""

from typing import Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import (
    ApiStruct,
    KubeObject,
    ObjectReference,
    SecretReference,
)
from understudy.embedded.schema.types.scheduling import NodeSelector
from understudy.embedded.schema.types.values import (
    AccessMode,
    Int32,
    Maybe,
    NonEmpty,
    Quantities,
    Time,
    VolumeMode,
)
from understudy.embedded.schema.types.volume_plugins import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from understudy.embedded.schema.types.volumes import HostPathVolumeSource, NFSVolumeSource


class AzureFilePersistentVolumeSource(ApiStruct):
    secret_name: NonEmpty
    share_name: NonEmpty
    read_only: Maybe[bool] = UNSET
    secret_namespace: Maybe[str] = UNSET


class CephFSPersistentVolumeSource(ApiStruct):
    monitors: list[str]
    path: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_file: Maybe[str] = UNSET
    secret_ref: Maybe[SecretReference] = UNSET
    user: Maybe[str] = UNSET


class CinderPersistentVolumeSource(ApiStruct):
    volume_id: NonEmpty
    fs_type: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[SecretReference] = UNSET


class CSIPersistentVolumeSource(ApiStruct):
    """A volume of a CSI driver."""

    driver: NonEmpty
    volume_handle: NonEmpty
    controller_expand_secret_ref: Maybe[SecretReference] = UNSET
    controller_publish_secret_ref: Maybe[SecretReference] = UNSET
    fs_type: Maybe[str] = UNSET
    node_expand_secret_ref: Maybe[SecretReference] = UNSET
    node_publish_secret_ref: Maybe[SecretReference] = UNSET
    node_stage_secret_ref: Maybe[SecretReference] = UNSET
    read_only: Maybe[bool] = UNSET
    volume_attributes: Maybe[dict[str, str]] = UNSET


class FlexPersistentVolumeSource(ApiStruct):
    driver: NonEmpty
    fs_type: Maybe[str] = UNSET
    options: Maybe[dict[str, str]] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[SecretReference] = UNSET


class GlusterfsPersistentVolumeSource(ApiStruct):
    endpoints: NonEmpty
    path: NonEmpty
    endpoints_namespace: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET


class ISCSIPersistentVolumeSource(ApiStruct):
    iqn: NonEmpty
    lun: Int32
    target_portal: NonEmpty
    chap_auth_discovery: Maybe[bool] = UNSET
    chap_auth_session: Maybe[bool] = UNSET
    fs_type: Maybe[str] = UNSET
    initiator_name: Maybe[str] = UNSET
    iscsi_interface: str = "default"
    portals: Maybe[list[str]] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[SecretReference] = UNSET


class LocalVolumeSource(ApiStruct):
    """A disk or folder of one node."""

    path: NonEmpty
    fs_type: Maybe[str] = UNSET


class RBDPersistentVolumeSource(ApiStruct):
    image: NonEmpty
    monitors: list[str]
    fs_type: Maybe[str] = UNSET
    keyring: str = "/etc/ceph/keyring"
    pool: str = "rbd"
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[SecretReference] = UNSET
    user: str = "admin"


class ScaleIOPersistentVolumeSource(ApiStruct):
    gateway: NonEmpty
    secret_ref: SecretReference
    system: NonEmpty
    fs_type: str = "xfs"
    protection_domain: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    ssl_enabled: Maybe[bool] = UNSET
    storage_mode: str = "ThinProvisioned"
    storage_pool: Maybe[str] = UNSET
    volume_name: Maybe[str] = UNSET


class StorageOSPersistentVolumeSource(ApiStruct):
    fs_type: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[ObjectReference] = UNSET
    volume_name: Maybe[str] = UNSET
    volume_namespace: Maybe[str] = UNSET


class VolumeNodeAffinity(ApiStruct):
    """The nodes that can reach the volume."""

    required: Maybe[NodeSelector] = UNSET


class PersistentVolumeSpec(ApiStruct):
    """What the storage is, and who holds it."""

    capacity: Quantities
    access_modes: Maybe[list[AccessMode]] = UNSET
    aws_elastic_block_store: Maybe[AWSElasticBlockStoreVolumeSource] = UNSET
    azure_disk: Maybe[AzureDiskVolumeSource] = UNSET
    azure_file: Maybe[AzureFilePersistentVolumeSource] = UNSET
    cephfs: Maybe[CephFSPersistentVolumeSource] = UNSET
    cinder: Maybe[CinderPersistentVolumeSource] = UNSET
    claim_ref: Maybe[ObjectReference] = UNSET
    csi: Maybe[CSIPersistentVolumeSource] = UNSET
    fc: Maybe[FCVolumeSource] = UNSET
    flex_volume: Maybe[FlexPersistentVolumeSource] = UNSET
    flocker: Maybe[FlockerVolumeSource] = UNSET
    gce_persistent_disk: Maybe[GCEPersistentDiskVolumeSource] = UNSET
    glusterfs: Maybe[GlusterfsPersistentVolumeSource] = UNSET
    host_path: Maybe[HostPathVolumeSource] = UNSET
    iscsi: Maybe[ISCSIPersistentVolumeSource] = UNSET
    local: Maybe[LocalVolumeSource] = UNSET
    mount_options: Maybe[list[str]] = UNSET
    nfs: Maybe[NFSVolumeSource] = UNSET
    node_affinity: Maybe[VolumeNodeAffinity] = UNSET
    persistent_volume_reclaim_policy: Literal["Delete", "Recycle", "Retain"] = "Retain"
    photon_persistent_disk: Maybe[PhotonPersistentDiskVolumeSource] = UNSET
    portworx_volume: Maybe[PortworxVolumeSource] = UNSET
    quobyte: Maybe[QuobyteVolumeSource] = UNSET
    rbd: Maybe[RBDPersistentVolumeSource] = UNSET
    scale_io: Maybe[ScaleIOPersistentVolumeSource] = UNSET
    storage_class_name: Maybe[str] = UNSET
    storageos: Maybe[StorageOSPersistentVolumeSource] = UNSET
    volume_attributes_class_name: Maybe[str] = UNSET
    volume_mode: VolumeMode = "Filesystem"
    vsphere_volume: Maybe[VsphereVirtualDiskVolumeSource] = UNSET


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
