"""One valid object of every kind: the seeds of fuzzing."""

from typing import Any

import msgspec

from understudy.objects import resources as at
from understudy.objects.resources import Resource

Document = dict[str, Any]

GADGETS = Resource("fuzz.example.com", "v1", "gadgets", "Gadget")
WIDGETS = Resource("fuzz.example.com", "v1", "widgets", "Widget", namespaced=False)


class Seed(msgspec.Struct, frozen=True):
    resource: Resource
    content: Document
    subresources: tuple[str, ...] = ()

    def document(self, name: str) -> Document:
        """A fresh copy."""
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": {"name": name}}
        copied: Document = msgspec.json.decode(msgspec.json.encode(head | self.content))
        return copied


_CONTAINER: Document = {
    "name": "main",
    "image": "x",
    "command": ["true"],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "one", "key": "a"}}},
    ],
    "ports": [{"containerPort": 80, "name": "web"}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 3},
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
}
_TERM: Document = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}
_POD: Document = {
    "spec": {
        "schedulingGates": [{"name": "fuzz/never"}],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "containers": [_CONTAINER],
        "initContainers": [{"name": "before", "image": "x", "command": ["true"]}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]},
        },
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    }
}
_JOB: Document = {
    "spec": {
        "suspend": True,
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}},
    }
}
SCHEMA: Document = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 2, "multipleOf": 1},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 20},
                "parts": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "either": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "texts": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
                "ratio": {"type": "number", "oneOf": [{"minimum": 1}, {"maximum": 5}]},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "when": {"type": "string", "format": "date-time"},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition(resource: Resource) -> Document:
    return {
        "metadata": {"name": resource.key},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                }
            ],
        },
    }


_GADGET: Document = {"spec": {"size": 3, "parts": ["a", "b"], "ratio": 7, "when": "2026-01-01T00:00:00Z"}}
_EVENT: Document = {
    "involvedObject": {"kind": "Pod", "name": "one", "namespace": "default"},
    "reason": "Fuzzed",
    "message": "m",
    "type": "Normal",
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "count": 1,
}
_CLAIM: Document = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
_VOLUME: Document = {
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}}
}
_NODE: Document = {
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
}
_SERVICE: Document = {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "web"}]}}
_ENDPOINTS: Document = {"subsets": [{"addresses": [{"ip": "127.0.0.2"}], "ports": [{"port": 80}]}]}
_BUDGET: Document = {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}}
_LEASE: Document = {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 10, "renewTime": "2026-01-01T00:00:00Z"}}
_RULES: list[Document] = [
    {"apiGroups": ["", "batch"], "resources": ["pods", "jobs/status"], "resourceNames": ["one"], "verbs": ["get"]}
]
_PATH_RULE: Document = {"nonResourceURLs": ["/healthz", "/api/*"], "verbs": ["get"]}
_AGGREGATION: Document = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
_ROLE: Document = {"apiGroup": "rbac.authorization.k8s.io", "name": "one"}
_SUBJECTS: list[Document] = [
    {"kind": "ServiceAccount", "name": "one", "namespace": "default"},
    {"kind": "Group", "name": "two", "apiGroup": "rbac.authorization.k8s.io"},
]
_POD_PARTS = ("status", "binding", "eviction", "log", "exec", "ephemeralcontainers")

SEEDS = (
    Seed(at.PODS, _POD, _POD_PARTS),
    Seed(at.JOBS, _JOB, ("status",)),
    Seed(at.NODES, _NODE, ("status",)),
    Seed(at.NAMESPACES, {}, ("status", "finalize")),
    Seed(at.EVENTS, _EVENT),
    Seed(at.SERVICES, _SERVICE, ("status",)),
    Seed(at.ENDPOINTS, _ENDPOINTS),
    Seed(at.CONFIG_MAPS, {"data": {"a": "b"}, "binaryData": {"c": "YQ=="}}),
    Seed(at.SECRETS, {"data": {"a": "YQ=="}, "stringData": {"b": "c"}}),
    Seed(at.SERVICE_ACCOUNTS, {"automountServiceAccountToken": False}, ("token",)),
    Seed(at.ROLES, {"rules": _RULES}),
    Seed(at.CLUSTER_ROLES, {"rules": [*_RULES, _PATH_RULE], "aggregationRule": _AGGREGATION}),
    Seed(at.ROLE_BINDINGS, {"roleRef": {**_ROLE, "kind": "Role"}, "subjects": _SUBJECTS}),
    Seed(at.CLUSTER_ROLE_BINDINGS, {"roleRef": {**_ROLE, "kind": "ClusterRole"}, "subjects": _SUBJECTS}),
    Seed(at.CLAIMS, _CLAIM, ("status",)),
    Seed(at.VOLUMES, _VOLUME, ("status",)),
    Seed(at.LEASES, _LEASE),
    Seed(at.PRIORITY_CLASSES, {"value": 5, "globalDefault": False}),
    Seed(at.BUDGETS, _BUDGET, ("status",)),
    Seed(at.DEFINITIONS, definition(GADGETS), ("status",)),
    Seed(GADGETS, _GADGET, ("status", "scale")),
    Seed(WIDGETS, _GADGET, ("status",)),
)
