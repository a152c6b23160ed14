"""Volumes of storage products. They are kept as data: nothing here mounts them."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.types.meta import ApiStruct, LocalObjectReference
from understudy.embedded.schema.types.values import Int32, Maybe, NonEmpty


class AWSElasticBlockStoreVolumeSource(ApiStruct):
    volume_id: NonEmpty
    fs_type: Maybe[str] = UNSET
    partition: Maybe[Int32] = UNSET
    read_only: Maybe[bool] = UNSET


class AzureDiskVolumeSource(ApiStruct):
    disk_name: NonEmpty
    disk_uri: NonEmpty
    caching_mode: Literal["None", "ReadOnly", "ReadWrite"] = "ReadWrite"
    fs_type: str = "ext4"
    kind: Literal["Dedicated", "Managed", "Shared"] = "Shared"
    read_only: bool = False


class AzureFileVolumeSource(ApiStruct):
    secret_name: NonEmpty
    share_name: NonEmpty
    read_only: Maybe[bool] = UNSET


class CephFSVolumeSource(ApiStruct):
    monitors: list[str]
    path: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_file: Maybe[str] = UNSET
    secret_ref: Maybe[LocalObjectReference] = UNSET
    user: Maybe[str] = UNSET


class CinderVolumeSource(ApiStruct):
    volume_id: NonEmpty
    fs_type: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[LocalObjectReference] = UNSET


class FCVolumeSource(ApiStruct):
    fs_type: Maybe[str] = UNSET
    lun: Maybe[Int32] = UNSET
    read_only: Maybe[bool] = UNSET
    target_wwns: Maybe[list[str]] = UNSET
    wwids: Maybe[list[str]] = UNSET


class FlexVolumeSource(ApiStruct):
    driver: NonEmpty
    fs_type: Maybe[str] = UNSET
    options: Maybe[dict[str, str]] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[LocalObjectReference] = UNSET


class FlockerVolumeSource(ApiStruct):
    dataset_name: Maybe[str] = UNSET
    dataset_uuid: Maybe[str] = UNSET


class GCEPersistentDiskVolumeSource(ApiStruct):
    pd_name: NonEmpty
    fs_type: Maybe[str] = UNSET
    partition: Maybe[Int32] = UNSET
    read_only: Maybe[bool] = UNSET


class GitRepoVolumeSource(ApiStruct):
    repository: NonEmpty
    directory: Maybe[str] = UNSET
    revision: Maybe[str] = UNSET


class GlusterfsVolumeSource(ApiStruct):
    endpoints: NonEmpty
    path: NonEmpty
    read_only: Maybe[bool] = UNSET


class ISCSIVolumeSource(ApiStruct):
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
    secret_ref: Maybe[LocalObjectReference] = UNSET


class PhotonPersistentDiskVolumeSource(ApiStruct):
    pd_id: NonEmpty
    fs_type: Maybe[str] = UNSET


class PortworxVolumeSource(ApiStruct):
    volume_id: NonEmpty
    fs_type: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET


class QuobyteVolumeSource(ApiStruct):
    registry: NonEmpty
    volume: NonEmpty
    group: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    tenant: Maybe[str] = UNSET
    user: Maybe[str] = UNSET


class RBDVolumeSource(ApiStruct):
    image: NonEmpty
    monitors: list[str]
    fs_type: Maybe[str] = UNSET
    keyring: str = "/etc/ceph/keyring"
    pool: str = "rbd"
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[LocalObjectReference] = UNSET
    user: str = "admin"


class ScaleIOVolumeSource(ApiStruct):
    gateway: NonEmpty
    secret_ref: LocalObjectReference
    system: NonEmpty
    fs_type: str = "xfs"
    protection_domain: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    ssl_enabled: Maybe[bool] = UNSET
    storage_mode: str = "ThinProvisioned"
    storage_pool: Maybe[str] = UNSET
    volume_name: Maybe[str] = UNSET


class StorageOSVolumeSource(ApiStruct):
    fs_type: Maybe[str] = UNSET
    read_only: Maybe[bool] = UNSET
    secret_ref: Maybe[LocalObjectReference] = UNSET
    volume_name: Maybe[str] = UNSET
    volume_namespace: Maybe[str] = UNSET


class VsphereVirtualDiskVolumeSource(ApiStruct):
    volume_path: NonEmpty
    fs_type: Maybe[str] = UNSET
    storage_policy_id: Maybe[str] = UNSET
    storage_policy_name: Maybe[str] = UNSET
