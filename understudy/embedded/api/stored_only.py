"""The resources that are stored so that manifests and charts can be applied, each with what it does not do here."""

from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.typed_form import KindRules, TypedForm
from understudy.embedded.schema.types.stored_only import (
    HorizontalPodAutoscaler,
    Ingress,
    IngressClass,
    LimitRange,
    MutatingWebhookConfiguration,
    NetworkPolicy,
    ReplicationController,
    StorageClass,
    ValidatingWebhookConfiguration,
)
from understudy.objects import resources as at

_NO_INGRESS = "has no effect on an embedded cluster: nothing routes requests; pods are reached at their own addresses"
_NO_WEBHOOKS = "has no effect on an embedded cluster: webhooks are not called, and requests are admitted without them"

STORED_ONLY: tuple[ServedResource, ...] = (
    ServedResource(
        at.INGRESSES,
        TypedForm(at.INGRESSES, Ingress, KindRules(counted=True)),
        "ingress",
        short_names=("ing",),
        subresources=("status",),
        warning=f"Ingress {_NO_INGRESS}",
    ),
    ServedResource(
        at.INGRESS_CLASSES,
        TypedForm(at.INGRESS_CLASSES, IngressClass, KindRules(counted=True)),
        "ingressclass",
        warning=f"IngressClass {_NO_INGRESS}",
    ),
    ServedResource(
        at.NETWORK_POLICIES,
        TypedForm(at.NETWORK_POLICIES, NetworkPolicy, KindRules(counted=True)),
        "networkpolicy",
        short_names=("netpol",),
        warning="NetworkPolicy has no effect on an embedded cluster: pods share the network of this machine",
    ),
    ServedResource(
        at.AUTOSCALERS,
        TypedForm(at.AUTOSCALERS, HorizontalPodAutoscaler, KindRules()),
        "horizontalpodautoscaler",
        short_names=("hpa",),
        categories=("all",),
        subresources=("status",),
        warning="HorizontalPodAutoscaler has no effect on an embedded cluster: use kubectl scale",
    ),
    ServedResource(
        at.REPLICATION_CONTROLLERS,
        TypedForm(at.REPLICATION_CONTROLLERS, ReplicationController, KindRules(counted=True)),
        "replicationcontroller",
        short_names=("rc",),
        subresources=("status",),
        warning="ReplicationController has no effect on an embedded cluster: use a Deployment",
    ),
    ServedResource(
        at.LIMIT_RANGES,
        TypedForm(at.LIMIT_RANGES, LimitRange, KindRules()),
        "limitrange",
        short_names=("limits",),
        warning="LimitRange has no effect on an embedded cluster: pods get no defaults and no bounds from it",
    ),
    ServedResource(
        at.STORAGE_CLASSES,
        TypedForm(at.STORAGE_CLASSES, StorageClass, KindRules()),
        "storageclass",
        short_names=("sc",),
        warning="StorageClass has no effect on an embedded cluster: every claim gets a folder of this machine",
    ),
    ServedResource(
        at.VALIDATING_WEBHOOKS,
        TypedForm(at.VALIDATING_WEBHOOKS, ValidatingWebhookConfiguration, KindRules(counted=True)),
        "validatingwebhookconfiguration",
        categories=("api-extensions",),
        warning=f"ValidatingWebhookConfiguration {_NO_WEBHOOKS}",
    ),
    ServedResource(
        at.MUTATING_WEBHOOKS,
        TypedForm(at.MUTATING_WEBHOOKS, MutatingWebhookConfiguration, KindRules(counted=True)),
        "mutatingwebhookconfiguration",
        categories=("api-extensions",),
        warning=f"MutatingWebhookConfiguration {_NO_WEBHOOKS}",
    ),
)
