"""The order in which objects are sent: what others refer to first, what runs last."""

# Kinds of one line are sent in its order, objects of one kind in the order they were read.
_BEFORE = (
    ("Namespace", "CustomResourceDefinition"),
    ("PriorityClass", "RuntimeClass", "StorageClass", "CSIDriver", "DeviceClass"),
    ("NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget"),
    ("ServiceAccount", "Secret", "ConfigMap"),
    ("PersistentVolume", "PersistentVolumeClaim", "ResourceClaimTemplate", "ResourceClaim"),
    ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    ("Node", "Service", "Endpoints", "EndpointSlice"),
)
# Every kind that stands in no line is sent here: runtimes, queues and groups, which jobs refer to.
_AFTER = (
    ("DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "HorizontalPodAutoscaler"),
    ("Job", "CronJob", "JobSet"),
    ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "TrainJob"),
    ("IngressClass", "Ingress", "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)
_BEFORE_KINDS = [kind for line in _BEFORE for kind in line]
_RANKS = {kind: rank for rank, kind in enumerate(_BEFORE_KINDS)}
_RANKS |= {kind: rank for rank, kind in enumerate((kind for line in _AFTER for kind in line), len(_BEFORE_KINDS) + 1)}


def rank(kind: str) -> int:
    return _RANKS.get(kind, len(_BEFORE_KINDS))
