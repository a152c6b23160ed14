"""The kinds the embedded cluster brings, as data: where each is served, under which names, and its form."""

from understudy.embedded.api.served import Served
from understudy.embedded.schema.budgets import PodDisruptionBudget
from understudy.embedded.schema.claims import PersistentVolumeClaim
from understudy.embedded.schema.configs import ConfigMap, Secret, ServiceAccount
from understudy.embedded.schema.custom.definitions import DefinitionForm
from understudy.embedded.schema.events import Event
from understudy.embedded.schema.jobs import Job
from understudy.embedded.schema.leases import Lease
from understudy.embedded.schema.namespaces import Namespace
from understudy.embedded.schema.nodes import Node
from understudy.embedded.schema.persistent import PersistentVolume
from understudy.embedded.schema.pods import Pod
from understudy.embedded.schema.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from understudy.embedded.schema.rules import cluster, configs, jobs, names, pods, rbac, services, storage
from understudy.embedded.schema.scheduling import PriorityClass
from understudy.embedded.schema.services import Endpoints, Service
from understudy.embedded.schema.typed import Rules, TypedForm
from understudy.objects import resources as at

_POD_RULES = Rules[Pod](begin=pods.begin, complete=pods.complete, check=pods.check, changed=pods.changed, counted=True)
_JOB_RULES = Rules[Job](begin=jobs.begin, complete=jobs.complete, check=jobs.check, changed=jobs.changed, counted=True)
_NAMESPACE_RULES = Rules[Namespace](
    named=names.label,
    begin=cluster.begin_namespace,
    inherit=cluster.inherit_namespace,
    complete=cluster.complete_namespace,
)
_SERVICE_RULES = Rules[Service](
    named=names.label_1035,
    begin=services.begin,
    inherit=services.inherit,
    complete=services.complete,
    check=services.check,
    changed=services.changed,
)
_CONFIG_MAP_RULES = Rules[ConfigMap](check=configs.check_config_map, changed=configs.changed_config_map)
_SECRET_RULES = Rules[Secret](
    complete=configs.complete_secret, check=configs.check_secret, changed=configs.changed_secret
)
_CLAIM_RULES = Rules[PersistentVolumeClaim](
    begin=storage.begin_claim, check=storage.check_claim, changed=storage.changed_claim
)
_VOLUME_RULES = Rules[PersistentVolume](
    begin=storage.begin_volume, check=storage.check_volume, changed=storage.changed_volume
)
_PRIORITY_RULES = Rules[PriorityClass](
    begin=cluster.begin_priority_class,
    check=cluster.check_priority_class,
    changed=cluster.changed_priority_class,
    counted=True,
)
_BUDGET_RULES = Rules[PodDisruptionBudget](begin=cluster.begin_budget, check=cluster.check_budget, counted=True)

_ROLE_RULES = Rules[Role](named=names.path_segment, check=rbac.check_role)
_CLUSTER_ROLE_RULES = Rules[ClusterRole](named=names.path_segment, check=rbac.check_cluster_role)
_ROLE_BINDING_RULES = Rules[RoleBinding](
    named=names.path_segment, complete=rbac.complete_binding, check=rbac.check_binding, changed=rbac.changed_binding
)
_CLUSTER_ROLE_BINDING_RULES = Rules[ClusterRoleBinding](
    named=names.path_segment, complete=rbac.complete_binding, check=rbac.check_binding, changed=rbac.changed_binding
)

BUILTIN: tuple[Served, ...] = (
    Served(
        at.NAMESPACES,
        TypedForm(at.NAMESPACES, Namespace, _NAMESPACE_RULES),
        "namespace",
        short_names=("ns",),
        subresources=("status", "finalize"),
    ),
    Served(
        at.NODES,
        TypedForm(at.NODES, Node, Rules(check=cluster.check_node)),
        "node",
        short_names=("no",),
        subresources=("status",),
    ),
    Served(
        at.PODS,
        TypedForm(at.PODS, Pod, _POD_RULES),
        "pod",
        short_names=("po",),
        categories=("all",),
        subresources=("status", "binding", "eviction", "log", "exec"),
    ),
    Served(at.EVENTS, TypedForm(at.EVENTS, Event, Rules(check=cluster.check_event)), "event", short_names=("ev",)),
    Served(
        at.SERVICES,
        TypedForm(at.SERVICES, Service, _SERVICE_RULES),
        "service",
        short_names=("svc",),
        categories=("all",),
        subresources=("status",),
    ),
    Served(
        at.ENDPOINTS,
        TypedForm(at.ENDPOINTS, Endpoints, Rules(check=services.check_endpoints)),
        "endpoints",
        short_names=("ep",),
    ),
    Served(at.CONFIG_MAPS, TypedForm(at.CONFIG_MAPS, ConfigMap, _CONFIG_MAP_RULES), "configmap", short_names=("cm",)),
    Served(at.SECRETS, TypedForm(at.SECRETS, Secret, _SECRET_RULES), "secret"),
    Served(
        at.SERVICE_ACCOUNTS,
        TypedForm(at.SERVICE_ACCOUNTS, ServiceAccount, Rules()),
        "serviceaccount",
        short_names=("sa",),
        subresources=("token",),
    ),
    Served(
        at.CLAIMS,
        TypedForm(at.CLAIMS, PersistentVolumeClaim, _CLAIM_RULES),
        "persistentvolumeclaim",
        short_names=("pvc",),
        subresources=("status",),
    ),
    Served(
        at.VOLUMES,
        TypedForm(at.VOLUMES, PersistentVolume, _VOLUME_RULES),
        "persistentvolume",
        short_names=("pv",),
        subresources=("status",),
    ),
    Served(at.LEASES, TypedForm(at.LEASES, Lease, Rules(check=cluster.check_lease)), "lease"),
    Served(
        at.PRIORITY_CLASSES,
        TypedForm(at.PRIORITY_CLASSES, PriorityClass, _PRIORITY_RULES, ("v1beta1",)),
        "priorityclass",
        short_names=("pc",),
        other_versions=("v1beta1",),
    ),
    Served(
        at.BUDGETS,
        TypedForm(at.BUDGETS, PodDisruptionBudget, _BUDGET_RULES),
        "poddisruptionbudget",
        short_names=("pdb",),
        subresources=("status",),
    ),
    Served(at.JOBS, TypedForm(at.JOBS, Job, _JOB_RULES), "job", categories=("all",), subresources=("status",)),
    Served(at.ROLES, TypedForm(at.ROLES, Role, _ROLE_RULES), "role"),
    Served(at.ROLE_BINDINGS, TypedForm(at.ROLE_BINDINGS, RoleBinding, _ROLE_BINDING_RULES), "rolebinding"),
    Served(at.CLUSTER_ROLES, TypedForm(at.CLUSTER_ROLES, ClusterRole, _CLUSTER_ROLE_RULES), "clusterrole"),
    Served(
        at.CLUSTER_ROLE_BINDINGS,
        TypedForm(at.CLUSTER_ROLE_BINDINGS, ClusterRoleBinding, _CLUSTER_ROLE_BINDING_RULES),
        "clusterrolebinding",
    ),
    Served(
        at.DEFINITIONS,
        DefinitionForm(),
        "customresourcedefinition",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=("status",),
    ),
)
