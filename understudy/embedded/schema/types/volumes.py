"""The volumes of a pod, by where their content comes from."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.types.claims import PersistentVolumeClaimTemplate
from understudy.embedded.schema.types.containers import ObjectFieldSelector, ResourceFieldSelector
from understudy.embedded.schema.types.meta import ApiStruct, LabelSelector
from understudy.embedded.schema.types.values import FileMode, Int64, Maybe, NonEmpty, Opaque, Quantity


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
    """A folder that containers of the pod can mount. Types that are Opaque are not mounted here, and refused."""

    name: NonEmpty
    aws_elastic_block_store: Maybe[Opaque] = UNSET
    azure_disk: Maybe[Opaque] = UNSET
    azure_file: Maybe[Opaque] = UNSET
    cephfs: Maybe[Opaque] = UNSET
    cinder: Maybe[Opaque] = UNSET
    config_map: Maybe[ConfigMapVolumeSource] = UNSET
    csi: Maybe[Opaque] = UNSET
    downward_api: Maybe[DownwardAPIVolumeSource] = UNSET
    empty_dir: Maybe[EmptyDirVolumeSource] = UNSET
    ephemeral: Maybe[EphemeralVolumeSource] = UNSET
    fc: Maybe[Opaque] = UNSET
    flex_volume: Maybe[Opaque] = UNSET
    flocker: Maybe[Opaque] = UNSET
    gce_persistent_disk: Maybe[Opaque] = UNSET
    git_repo: Maybe[Opaque] = UNSET
    glusterfs: Maybe[Opaque] = UNSET
    host_path: Maybe[HostPathVolumeSource] = UNSET
    image: Maybe[Opaque] = UNSET
    iscsi: Maybe[Opaque] = UNSET
    nfs: Maybe[Opaque] = UNSET
    persistent_volume_claim: Maybe[PersistentVolumeClaimVolumeSource] = UNSET
    photon_persistent_disk: Maybe[Opaque] = UNSET
    portworx_volume: Maybe[Opaque] = UNSET
    projected: Maybe[ProjectedVolumeSource] = UNSET
    quobyte: Maybe[Opaque] = UNSET
    rbd: Maybe[Opaque] = UNSET
    scale_io: Maybe[Opaque] = UNSET
    secret: Maybe[SecretVolumeSource] = UNSET
    storageos: Maybe[Opaque] = UNSET
    vsphere_volume: Maybe[Opaque] = UNSET
