"""The kinds that come along in a `kubectl get` dump and have no say in who sits where."""

from collections import Counter
from collections.abc import Iterable

_NAMES = """
    APIService Binding CertificateSigningRequest ClusterRole ClusterRoleBinding ComponentStatus ConfigMap
    ControllerRevision CronJob CSIDriver CSINode CSIStorageCapacity CustomResourceDefinition DaemonSet Deployment
    DeviceClass EndpointSlice Endpoints Event FlowSchema HorizontalPodAutoscaler Ingress IngressClass IPAddress
    LimitRange MutatingWebhookConfiguration NetworkPolicy NodeMetrics PodMetrics PodTemplate
    PriorityLevelConfiguration ReplicaSet ReplicationController ResourceQuota Role RoleBinding RuntimeClass Secret
    Service ServiceAccount ServiceCIDR StatefulSet ValidatingAdmissionPolicy
    ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment VolumeAttributesClass
"""
NO_SAY = frozenset(_NAMES.split())


def note(kinds: Iterable[str]) -> str:
    """`3 Services and 1 ConfigMap have no say in scheduling; skipped`."""
    counts = Counter(kinds)
    words = [f"{n} {kind if n == 1 else plural(kind)}" for kind, n in sorted(counts.items())]
    named = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    verb = "has" if counts.total() == 1 else "have"
    return f"{named} {verb} no say in scheduling; skipped"


def plural(kind: str) -> str:
    if kind.endswith(("s", "ss", "x")):
        return kind if kind == "Endpoints" else f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") and kind[-2] not in "aeiou" else f"{kind}s"
