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


class ValidatingAdmissionPolicy(KubeObject, kw_only=True):
    """Expressions that decide whether a request is admitted."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingAdmissionPolicy"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET


class ValidatingAdmissionPolicyBinding(KubeObject, kw_only=True):
    """Which requests a ValidatingAdmissionPolicy is about."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingAdmissionPolicyBinding"
    spec: Maybe[Opaque] = UNSET


class MutatingAdmissionPolicy(KubeObject, kw_only=True):
    """Expressions that change what a request stores."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingAdmissionPolicy"
    spec: Maybe[Opaque] = UNSET


class MutatingAdmissionPolicyBinding(KubeObject, kw_only=True):
    """Which requests a MutatingAdmissionPolicy is about."""

    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingAdmissionPolicyBinding"
    spec: Maybe[Opaque] = UNSET


class APIService(KubeObject, kw_only=True):
    """A server that answers for a group and version of the API."""

    api_version: str = "apiregistration.k8s.io/v1"
    kind: str = "APIService"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET


class RuntimeClass(KubeObject, kw_only=True):
    """A container runtime that pods can ask for."""

    api_version: str = "node.k8s.io/v1"
    kind: str = "RuntimeClass"
    handler: NonEmpty
    overhead: Maybe[Opaque] = UNSET
    scheduling: Maybe[Opaque] = UNSET


class CSIDriver(KubeObject, kw_only=True):
    """A driver that makes volumes."""

    api_version: str = "storage.k8s.io/v1"
    kind: str = "CSIDriver"
    spec: Maybe[Opaque] = UNSET


class PodTemplate(KubeObject, kw_only=True):
    """A pod for others to make."""

    api_version: str = "v1"
    kind: str = "PodTemplate"
    template: Maybe[Opaque] = UNSET


class CertificateSigningRequest(KubeObject, kw_only=True):
    """Asks for a certificate."""

    api_version: str = "certificates.k8s.io/v1"
    kind: str = "CertificateSigningRequest"
    spec: Maybe[Opaque] = UNSET
    status: Maybe[Opaque] = UNSET
