"""Kinds that are stored so that manifests and charts can be applied, and have no effect here. Their specs are kept as
they are."""

from typing import Annotated, Literal

from msgspec import UNSET

from understudy.embedded.schema.types.meta import KubeObject
from understudy.embedded.schema.types.values import Maybe, NonEmpty, Opaque, keyed


class Ingress(KubeObject, kw_only=True):
    """Routes requests from outside to services."""

    api_version: str = "networking.k8s.io/v1"
    kind: str = "Ingress"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET


class IngressClass(KubeObject, kw_only=True):
    """Which controller serves an Ingress."""

    api_version: str = "networking.k8s.io/v1"
    kind: str = "IngressClass"
    spec: Maybe[Opaque] = UNSET


class NetworkPolicy(KubeObject, kw_only=True):
    """Which traffic pods may have."""

    api_version: str = "networking.k8s.io/v1"
    kind: str = "NetworkPolicy"
    spec: Maybe[Opaque] = UNSET


class HorizontalPodAutoscaler(KubeObject, kw_only=True):
    """Changes the replicas of a workload as its load changes."""

    api_version: str = "autoscaling/v2"
    kind: str = "HorizontalPodAutoscaler"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET


class ReplicationController(KubeObject, kw_only=True):
    """The predecessor of ReplicaSets."""

    api_version: str = "v1"
    kind: str = "ReplicationController"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET


class LimitRange(KubeObject, kw_only=True):
    """Defaults and bounds for the resources of each pod."""

    api_version: str = "v1"
    kind: str = "LimitRange"
    spec: Maybe[Opaque] = UNSET


class StorageClass(KubeObject, kw_only=True):
    """A kind of storage that claims can ask for."""

    api_version: str = "storage.k8s.io/v1"
    kind: str = "StorageClass"
    provisioner: NonEmpty
    allow_volume_expansion: Maybe[bool] = UNSET
    allowed_topologies: Maybe[list[Opaque]] = UNSET
    mount_options: Maybe[list[str]] = UNSET
    parameters: Maybe[dict[str, str]] = UNSET
    reclaim_policy: Literal["Delete", "Retain"] = "Delete"
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"


class ValidatingWebhookConfiguration(KubeObject, kw_only=True):
    """Webhooks that are asked whether a request is admitted."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingWebhookConfiguration"
    webhooks: Annotated[Maybe[list[Opaque]], keyed("name")] = UNSET


class MutatingWebhookConfiguration(KubeObject, kw_only=True):
    """Webhooks that may change what a request stores."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingWebhookConfiguration"
    webhooks: Annotated[Maybe[list[Opaque]], keyed("name")] = UNSET
