"""Under which identity and with which rights the processes of a pod run."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.values import Int64, Maybe, NonEmpty


class AppArmorProfile(Part):
    """The AppArmor profile to run under."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]
    localhost_profile: Maybe[str] = UNSET


class SeccompProfile(Part):
    """The seccomp profile to run under."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]
    localhost_profile: Maybe[str] = UNSET


class SELinuxOptions(Part):
    """The SELinux context to run under."""

    level: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    user: Maybe[str] = UNSET


class WindowsSecurityContextOptions(Part):
    """Settings for Windows."""

    gmsa_credential_spec: Maybe[str] = UNSET
    gmsa_credential_spec_name: Maybe[str] = UNSET
    host_process: Maybe[bool] = UNSET
    run_as_user_name: Maybe[str] = UNSET


class Capabilities(Part):
    """Linux capabilities to add and to drop."""

    add: Maybe[list[str]] = UNSET
    drop: Maybe[list[str]] = UNSET


class SecurityContext(Part):
    """User, rights and limits of one container."""

    allow_privilege_escalation: Maybe[bool] = UNSET
    app_armor_profile: Maybe[AppArmorProfile] = UNSET
    capabilities: Maybe[Capabilities] = UNSET
    privileged: Maybe[bool] = UNSET
    proc_mount: Maybe[Literal["Default", "Unmasked"]] = UNSET
    read_only_root_filesystem: Maybe[bool] = UNSET
    run_as_group: Maybe[Int64] = UNSET
    run_as_non_root: Maybe[bool] = UNSET
    run_as_user: Maybe[Int64] = UNSET
    se_linux_options: Maybe[SELinuxOptions] = UNSET
    seccomp_profile: Maybe[SeccompProfile] = UNSET
    windows_options: Maybe[WindowsSecurityContextOptions] = UNSET


class Sysctl(Part):
    """A kernel setting."""

    name: NonEmpty
    value: NonEmpty


class PodSecurityContext(Part):
    """User, rights and groups for all containers of the pod."""

    app_armor_profile: Maybe[AppArmorProfile] = UNSET
    fs_group: Maybe[Int64] = UNSET
    fs_group_change_policy: Maybe[Literal["OnRootMismatch", "Always"]] = UNSET
    run_as_group: Maybe[Int64] = UNSET
    run_as_non_root: Maybe[bool] = UNSET
    run_as_user: Maybe[Int64] = UNSET
    se_linux_change_policy: Maybe[Literal["MountOption", "Recursive"]] = UNSET
    se_linux_options: Maybe[SELinuxOptions] = UNSET
    seccomp_profile: Maybe[SeccompProfile] = UNSET
    supplemental_groups: Maybe[list[Int64]] = UNSET
    supplemental_groups_policy: Maybe[Literal["Merge", "Strict"]] = UNSET
    sysctls: Maybe[list[Sysctl]] = UNSET
    windows_options: Maybe[WindowsSecurityContextOptions] = UNSET
