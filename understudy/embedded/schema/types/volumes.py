"""The volumes of a pod, by where their content comes from."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.types.claims import PersistentVolumeClaimTemplate
from understudy.embedded.schema.types.containers import ObjectFieldSelector, ResourceFieldSelector
from understudy.embedded.schema.types.meta import ApiStruct, LabelSelector, LocalObjectReference
from understudy.embedded.schema.types.values import FileMode, Int64, Maybe, NonEmpty, PullPolicy, Quantity
from understudy.embedded.schema.types.volume_plugins import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class KeyToPath(ApiStruct):
    """A key, and the file it becomes."""

    key: NonEmpty
    path: NonEmpty
    mode: Maybe[FileMode] = UNSET


class ConfigMapVolumeSource(ApiStruct):
    """The keys of a ConfigMap as files."""

    name: Maybe[str] = UNSET
    default_mode: FileMode = 0o644
    items: Maybe[list[KeyToPath]] = UNSET
    optional: Maybe[bool] = UNSET


class SecretVolumeSource(ApiStruct):
    """The keys of a Secret as files."""

    default_mode: FileMode = 0o644
    items: Maybe[list[KeyToPath]] = UNSET
    optional: Maybe[bool] = UNSET
    secret_name: Maybe[str] = UNSET


class DownwardAPIVolumeFile(ApiStruct):
    """A fact about the pod as a file."""

    path: NonEmpty
    field_ref: Maybe[ObjectFieldSelector] = UNSET
    mode: Maybe[FileMode] = UNSET
    resource_field_ref: Maybe[ResourceFieldSelector] = UNSET


class DownwardAPIVolumeSource(ApiStruct):
    """Facts about the pod as files."""

    default_mode: FileMode = 0o644
    items: Maybe[list[DownwardAPIVolumeFile]] = UNSET


class EmptyDirVolumeSource(ApiStruct):
    """An empty folder that lives as long as the pod."""

    medium: Maybe[str] = UNSET
    size_limit: Maybe[Quantity] = UNSET


class HostPathVolumeSource(ApiStruct):
    """A file or folder of the machine."""

    path: NonEmpty
    type: Literal[
        "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"
    ] = ""


class NFSVolumeSource(ApiStruct):
    """A folder of an NFS server."""

    path: NonEmpty
    server: NonEmpty
    read_only: Maybe[bool] = UNSET


class CSIVolumeSource(ApiStruct):
    """A volume of a CSI driver that lives as long as the pod."""

    driver: NonEmpty
    fs_type: Maybe[str] = UNSET
    node_publish_secret_ref: Maybe[LocalObjectReference] = UNSET
    read_only: Maybe[bool] = UNSET
    volume_attributes: Maybe[dict[str, str]] = UNSET


class ImageVolumeSource(ApiStruct):
    """The content of an image."""

    pull_policy: Maybe[PullPolicy] = UNSET
    reference: Maybe[str] = UNSET


class PersistentVolumeClaimVolumeSource(ApiStruct):
    """The storage behind a claim of the same namespace."""

    claim_name: NonEmpty
    read_only: Maybe[bool] = UNSET


class EphemeralVolumeSource(ApiStruct):
    """A claim made for the pod alone."""

    volume_claim_template: Maybe[PersistentVolumeClaimTemplate] = UNSET


class ClusterTrustBundleProjection(ApiStruct):
    """Certificates of trust as a file."""

    path: NonEmpty
    name: Maybe[str] = UNSET
    label_selector: Maybe[LabelSelector] = UNSET
    optional: Maybe[bool] = UNSET
    signer_name: Maybe[str] = UNSET


class ConfigMapProjection(ApiStruct):
    """Keys of a ConfigMap."""

    name: Maybe[str] = UNSET
    items: Maybe[list[KeyToPath]] = UNSET
    optional: Maybe[bool] = UNSET


class DownwardAPIProjection(ApiStruct):
    """Facts about the pod."""

    items: Maybe[list[DownwardAPIVolumeFile]] = UNSET


class SecretProjection(ApiStruct):
    """Keys of a Secret."""

    name: Maybe[str] = UNSET
    items: Maybe[list[KeyToPath]] = UNSET
    optional: Maybe[bool] = UNSET


class ServiceAccountTokenProjection(ApiStruct):
    """A token of the pod's service account."""

    path: NonEmpty
    audience: Maybe[str] = UNSET
    expiration_seconds: Int64 = 3600


class VolumeProjection(ApiStruct):
    """One of the sources put into one folder."""

    cluster_trust_bundle: Maybe[ClusterTrustBundleProjection] = UNSET
    config_map: Maybe[ConfigMapProjection] = UNSET
    downward_api: Maybe[DownwardAPIProjection] = UNSET
    secret: Maybe[SecretProjection] = UNSET
    service_account_token: Maybe[ServiceAccountTokenProjection] = UNSET


class ProjectedVolumeSource(ApiStruct):
    """Several sources in one folder."""

    default_mode: FileMode = 0o644
    sources: Maybe[list[VolumeProjection]] = UNSET


class Volume(ApiStruct):
    """A folder that containers of the pod can mount."""

    name: NonEmpty
    aws_elastic_block_store: Maybe[AWSElasticBlockStoreVolumeSource] = UNSET
    azure_disk: Maybe[AzureDiskVolumeSource] = UNSET
    azure_file: Maybe[AzureFileVolumeSource] = UNSET
    cephfs: Maybe[CephFSVolumeSource] = UNSET
    cinder: Maybe[CinderVolumeSource] = UNSET
    config_map: Maybe[ConfigMapVolumeSource] = UNSET
    csi: Maybe[CSIVolumeSource] = UNSET
    downward_api: Maybe[DownwardAPIVolumeSource] = UNSET
    empty_dir: Maybe[EmptyDirVolumeSource] = UNSET
    ephemeral: Maybe[EphemeralVolumeSource] = UNSET
    fc: Maybe[FCVolumeSource] = UNSET
    flex_volume: Maybe[FlexVolumeSource] = UNSET
    flocker: Maybe[FlockerVolumeSource] = UNSET
    gce_persistent_disk: Maybe[GCEPersistentDiskVolumeSource] = UNSET
    git_repo: Maybe[GitRepoVolumeSource] = UNSET
    glusterfs: Maybe[GlusterfsVolumeSource] = UNSET
    host_path: Maybe[HostPathVolumeSource] = UNSET
    image: Maybe[ImageVolumeSource] = UNSET
    iscsi: Maybe[ISCSIVolumeSource] = UNSET
    nfs: Maybe[NFSVolumeSource] = UNSET
    persistent_volume_claim: Maybe[PersistentVolumeClaimVolumeSource] = UNSET
    photon_persistent_disk: Maybe[PhotonPersistentDiskVolumeSource] = UNSET
    portworx_volume: Maybe[PortworxVolumeSource] = UNSET
    projected: Maybe[ProjectedVolumeSource] = UNSET
    quobyte: Maybe[QuobyteVolumeSource] = UNSET
    rbd: Maybe[RBDVolumeSource] = UNSET
    scale_io: Maybe[ScaleIOVolumeSource] = UNSET
    secret: Maybe[SecretVolumeSource] = UNSET
    storageos: Maybe[StorageOSVolumeSource] = UNSET
    vsphere_volume: Maybe[VsphereVirtualDiskVolumeSource] = UNSET
