"""The resources that are stored so that manifests and charts can be applied, each with what it does not do here."""

from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.typed_form import KindRules, TypedForm
from understudy.embedded.schema.types.stored_only import (
    APIService,
    CertificateSigningRequest,
    CSIDriver,
    HorizontalPodAutoscaler,
    Ingress,
    IngressClass,
    LimitRange,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    NetworkPolicy,
    PodTemplate,
    ReplicationController,
    RuntimeClass,
    StorageClass,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from understudy.embedded.schema.validation import autoscaling
from understudy.objects import resources as at

_NO_INGRESS = "has no effect on an embedded cluster: nothing routes requests; pods are reached at their own addresses"
_NO_WEBHOOKS = "has no effect on an embedded cluster: webhooks are not called, and requests are admitted without them"
_NO_POLICIES = "has no effect on an embedded cluster: expressions of policies are not evaluated"

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
        TypedForm(
            at.AUTOSCALERS,
            HorizontalPodAutoscaler,
            KindRules(complete=autoscaling.complete, check=autoscaling.check),
            ("v1",),
        ),
        "horizontalpodautoscaler",
        short_names=("hpa",),
        categories=("all",),
        subresources=("status",),
        warning="HorizontalPodAutoscaler has no effect on an embedded cluster: use kubectl scale",
        other_versions=("v1",),
        in_version=autoscaling.in_version,
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
    ServedResource(
        at.VALIDATING_POLICIES,
        TypedForm(at.VALIDATING_POLICIES, ValidatingAdmissionPolicy, KindRules(counted=True)),
        "validatingadmissionpolicy",
        categories=("api-extensions",),
        subresources=("status",),
        warning=f"ValidatingAdmissionPolicy {_NO_POLICIES}, and requests are admitted without them",
    ),
    ServedResource(
        at.VALIDATING_POLICY_BINDINGS,
        TypedForm(at.VALIDATING_POLICY_BINDINGS, ValidatingAdmissionPolicyBinding, KindRules(counted=True)),
        "validatingadmissionpolicybinding",
        categories=("api-extensions",),
        warning=f"ValidatingAdmissionPolicyBinding {_NO_POLICIES}, and requests are admitted without them",
    ),
    ServedResource(
        at.MUTATING_POLICIES,
        TypedForm(at.MUTATING_POLICIES, MutatingAdmissionPolicy, KindRules(counted=True)),
        "mutatingadmissionpolicy",
        categories=("api-extensions",),
        warning=f"MutatingAdmissionPolicy {_NO_POLICIES}, and requests are stored as they are",
    ),
    ServedResource(
        at.MUTATING_POLICY_BINDINGS,
        TypedForm(at.MUTATING_POLICY_BINDINGS, MutatingAdmissionPolicyBinding, KindRules(counted=True)),
        "mutatingadmissionpolicybinding",
        categories=("api-extensions",),
        warning=f"MutatingAdmissionPolicyBinding {_NO_POLICIES}, and requests are stored as they are",
    ),
    ServedResource(
        at.API_SERVICES,
        TypedForm(at.API_SERVICES, APIService, KindRules()),
        "apiservice",
        categories=("api-extensions",),
        subresources=("status",),
        warning="APIService has no effect on an embedded cluster: requests are not passed on to other servers",
    ),
    ServedResource(
        at.RUNTIME_CLASSES,
        TypedForm(at.RUNTIME_CLASSES, RuntimeClass, KindRules()),
        "runtimeclass",
        warning="RuntimeClass has no effect on an embedded cluster: use understudy up --runtime",
    ),
    ServedResource(
        at.CSI_DRIVERS,
        TypedForm(at.CSI_DRIVERS, CSIDriver, KindRules()),
        "csidriver",
        warning="CSIDriver has no effect on an embedded cluster: volumes are folders of this machine",
    ),
    ServedResource(
        at.POD_TEMPLATES,
        TypedForm(at.POD_TEMPLATES, PodTemplate, KindRules()),
        "podtemplate",
        warning="PodTemplate has no effect on an embedded cluster: no controller makes pods of it",
    ),
    ServedResource(
        at.SIGNING_REQUESTS,
        TypedForm(at.SIGNING_REQUESTS, CertificateSigningRequest, KindRules()),
        "certificatesigningrequest",
        short_names=("csr",),
        subresources=("status",),
        warning="CertificateSigningRequest has no effect on an embedded cluster: no certificates are signed",
    ),
)
