"""ConfigMaps, Secrets and ServiceAccounts: what pods are given to read."""

from typing import Annotated

from msgspec import UNSET

from understudy.embedded.schema.meta import KubeObject
from understudy.embedded.schema.references import LocalObjectReference, ObjectReference
from understudy.embedded.schema.values import Maybe, keyed


class ConfigMap(KubeObject, kw_only=True):
    """Settings for pods, as keys and values."""

    api_version: str = "v1"
    kind: str = "ConfigMap"
    binary_data: Maybe[dict[str, bytes]] = UNSET
    data: Maybe[dict[str, str]] = UNSET
    immutable: Maybe[bool] = UNSET


class Secret(KubeObject, kw_only=True):
    """Settings that are nobody else's business. Values are base64."""

    api_version: str = "v1"
    kind: str = "Secret"
    data: Maybe[dict[str, bytes]] = UNSET
    immutable: Maybe[bool] = UNSET
    string_data: Maybe[dict[str, str]] = UNSET
    type: str = "Opaque"


class ServiceAccount(KubeObject, kw_only=True):
    """The identity pods run under."""

    api_version: str = "v1"
    kind: str = "ServiceAccount"
    automount_service_account_token: Maybe[bool] = UNSET
    image_pull_secrets: Annotated[Maybe[list[LocalObjectReference]], keyed("name")] = UNSET
    secrets: Annotated[Maybe[list[ObjectReference]], keyed("name")] = UNSET
