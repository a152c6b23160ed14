"""The built-in resources as data: their names, schemas and sub-resources."""

from understudy.embedded.api.stored_only import STORED_ONLY
from understudy.embedded.schema.custom.definitions import DefinitionForm
from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.typed_form import KindRules, TypedForm
from understudy.embedded.schema.types.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from understudy.embedded.schema.types.batch import CronJob, Job
from understudy.embedded.schema.types.claims import PersistentVolumeClaim
from understudy.embedded.schema.types.core import ConfigMap, Event, Lease, Namespace, Node, Secret, ServiceAccount
from understudy.embedded.schema.types.persistent_volumes import PersistentVolume
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.schema.types.quotas import ResourceQuota
from understudy.embedded.schema.types.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from understudy.embedded.schema.types.scheduling import PodDisruptionBudget, PriorityClass
from understudy.embedded.schema.types.services import Endpoints, EndpointSlice, Service
from understudy.embedded.schema.validation import apps, batch, core, cron, names, pods, quotas, rbac, services, storage
from understudy.objects import resources as at

_POD_RULES = KindRules[Pod](
    begin=pods.begin, complete=pods.complete, check=pods.check, changed=pods.changed, counted=True
)
_JOB_RULES = KindRules[Job](
    begin=batch.begin, complete=batch.complete, check=batch.check, changed=batch.changed, counted=True
)
_CRON_JOB_RULES = KindRules[CronJob](begin=cron.begin, complete=cron.complete, check=cron.check, counted=True)
_DEPLOYMENT_RULES = KindRules[Deployment](
    begin=apps.begin, complete=apps.complete_deployment, check=apps.check, changed=apps.changed, counted=True
)
_REPLICA_SET_RULES = KindRules[ReplicaSet](
    begin=apps.begin, complete=apps.complete_replica_set, check=apps.check, changed=apps.changed, counted=True
)
_STATEFUL_SET_RULES = KindRules[StatefulSet](
    begin=apps.begin, complete=apps.complete_stateful_set, check=apps.check, changed=apps.changed, counted=True
)
_DAEMON_SET_RULES = KindRules[DaemonSet](
    begin=apps.begin, complete=apps.complete_daemon_set, check=apps.check, changed=apps.changed, counted=True
)
_REVISION_RULES = KindRules[ControllerRevision](check=apps.check_revision, changed=apps.changed_revision)
_NAMESPACE_RULES = KindRules[Namespace](
    named=names.label,
    begin=core.begin_namespace,
    inherit=core.inherit_namespace,
    complete=core.complete_namespace,
)
_SERVICE_RULES = KindRules[Service](
    named=names.label_1035,
    begin=services.begin,
    inherit=services.inherit,
    complete=services.complete,
    check=services.check,
    changed=services.changed,
)
_CONFIG_MAP_RULES = KindRules[ConfigMap](check=core.check_config_map, changed=core.changed_config_map)
_SECRET_RULES = KindRules[Secret](complete=core.complete_secret, check=core.check_secret, changed=core.changed_secret)
_CLAIM_RULES = KindRules[PersistentVolumeClaim](
    begin=storage.begin_claim, check=storage.check_claim, changed=storage.changed_claim
)
_VOLUME_RULES = KindRules[PersistentVolume](
    begin=storage.begin_volume, check=storage.check_volume, changed=storage.changed_volume
)
_PRIORITY_RULES = KindRules[PriorityClass](
    begin=core.begin_priority_class,
    check=core.check_priority_class,
    changed=core.changed_priority_class,
    counted=True,
)
_BUDGET_RULES = KindRules[PodDisruptionBudget](begin=core.begin_budget, check=core.check_budget, counted=True)
_QUOTA_RULES = KindRules[ResourceQuota](begin=quotas.begin, check=quotas.check, changed=quotas.changed)

_ROLE_RULES = KindRules[Role](named=names.path_segment, check=rbac.check_role)
_CLUSTER_ROLE_RULES = KindRules[ClusterRole](named=names.path_segment, check=rbac.check_cluster_role)
_ROLE_BINDING_RULES = KindRules[RoleBinding](
    named=names.path_segment, complete=rbac.complete_binding, check=rbac.check_binding, changed=rbac.changed_binding
)
_CLUSTER_ROLE_BINDING_RULES = KindRules[ClusterRoleBinding](
    named=names.path_segment, complete=rbac.complete_binding, check=rbac.check_binding, changed=rbac.changed_binding
)

BUILTIN: tuple[ServedResource, ...] = (
    *STORED_ONLY,
    ServedResource(
        at.NAMESPACES,
        TypedForm(at.NAMESPACES, Namespace, _NAMESPACE_RULES),
        "namespace",
        short_names=("ns",),
        subresources=("status", "finalize"),
    ),
    ServedResource(
        at.NODES,
        TypedForm(at.NODES, Node, KindRules(check=core.check_node)),
        "node",
        short_names=("no",),
        subresources=("status",),
    ),
    ServedResource(
        at.PODS,
        TypedForm(at.PODS, Pod, _POD_RULES),
        "pod",
        short_names=("po",),
        categories=("all",),
        subresources=("status", "attach", "binding", "eviction", "exec", "log", "portforward"),
    ),
    ServedResource(
        at.EVENTS, TypedForm(at.EVENTS, Event, KindRules(check=core.check_event)), "event", short_names=("ev",)
    ),
    ServedResource(
        at.SERVICES,
        TypedForm(at.SERVICES, Service, _SERVICE_RULES),
        "service",
        short_names=("svc",),
        categories=("all",),
        subresources=("status",),
    ),
    ServedResource(
        at.ENDPOINTS,
        TypedForm(at.ENDPOINTS, Endpoints, KindRules(check=services.check_endpoints)),
        "endpoints",
        short_names=("ep",),
    ),
    ServedResource(
        at.ENDPOINT_SLICES,
        TypedForm(at.ENDPOINT_SLICES, EndpointSlice, KindRules(check=services.check_slice)),
        "endpointslice",
    ),
    ServedResource(
        at.CONFIG_MAPS, TypedForm(at.CONFIG_MAPS, ConfigMap, _CONFIG_MAP_RULES), "configmap", short_names=("cm",)
    ),
    ServedResource(at.SECRETS, TypedForm(at.SECRETS, Secret, _SECRET_RULES), "secret"),
    ServedResource(
        at.SERVICE_ACCOUNTS,
        TypedForm(at.SERVICE_ACCOUNTS, ServiceAccount, KindRules()),
        "serviceaccount",
        short_names=("sa",),
        subresources=("token",),
    ),
    ServedResource(
        at.CLAIMS,
        TypedForm(at.CLAIMS, PersistentVolumeClaim, _CLAIM_RULES),
        "persistentvolumeclaim",
        short_names=("pvc",),
        subresources=("status",),
    ),
    ServedResource(
        at.VOLUMES,
        TypedForm(at.VOLUMES, PersistentVolume, _VOLUME_RULES),
        "persistentvolume",
        short_names=("pv",),
        subresources=("status",),
    ),
    ServedResource(at.LEASES, TypedForm(at.LEASES, Lease, KindRules(check=core.check_lease)), "lease"),
    ServedResource(
        at.PRIORITY_CLASSES,
        TypedForm(at.PRIORITY_CLASSES, PriorityClass, _PRIORITY_RULES, ("v1beta1",)),
        "priorityclass",
        short_names=("pc",),
        other_versions=("v1beta1",),
    ),
    ServedResource(
        at.BUDGETS,
        TypedForm(at.BUDGETS, PodDisruptionBudget, _BUDGET_RULES),
        "poddisruptionbudget",
        short_names=("pdb",),
        subresources=("status",),
    ),
    ServedResource(
        at.RESOURCE_QUOTAS,
        TypedForm(at.RESOURCE_QUOTAS, ResourceQuota, _QUOTA_RULES),
        "resourcequota",
        short_names=("quota",),
        subresources=("status",),
    ),
    ServedResource(at.JOBS, TypedForm(at.JOBS, Job, _JOB_RULES), "job", categories=("all",), subresources=("status",)),
    ServedResource(
        at.CRON_JOBS,
        TypedForm(at.CRON_JOBS, CronJob, _CRON_JOB_RULES),
        "cronjob",
        short_names=("cj",),
        categories=("all",),
        subresources=("status",),
    ),
    ServedResource(
        at.DEPLOYMENTS,
        TypedForm(at.DEPLOYMENTS, Deployment, _DEPLOYMENT_RULES),
        "deployment",
        short_names=("deploy",),
        categories=("all",),
        subresources=("status", "scale"),
    ),
    ServedResource(
        at.REPLICA_SETS,
        TypedForm(at.REPLICA_SETS, ReplicaSet, _REPLICA_SET_RULES),
        "replicaset",
        short_names=("rs",),
        categories=("all",),
        subresources=("status", "scale"),
    ),
    ServedResource(
        at.STATEFUL_SETS,
        TypedForm(at.STATEFUL_SETS, StatefulSet, _STATEFUL_SET_RULES),
        "statefulset",
        short_names=("sts",),
        categories=("all",),
        subresources=("status", "scale"),
    ),
    ServedResource(
        at.DAEMON_SETS,
        TypedForm(at.DAEMON_SETS, DaemonSet, _DAEMON_SET_RULES),
        "daemonset",
        short_names=("ds",),
        categories=("all",),
        subresources=("status",),
    ),
    ServedResource(
        at.CONTROLLER_REVISIONS,
        TypedForm(at.CONTROLLER_REVISIONS, ControllerRevision, _REVISION_RULES),
        "controllerrevision",
    ),
    ServedResource(at.ROLES, TypedForm(at.ROLES, Role, _ROLE_RULES), "role"),
    ServedResource(at.ROLE_BINDINGS, TypedForm(at.ROLE_BINDINGS, RoleBinding, _ROLE_BINDING_RULES), "rolebinding"),
    ServedResource(at.CLUSTER_ROLES, TypedForm(at.CLUSTER_ROLES, ClusterRole, _CLUSTER_ROLE_RULES), "clusterrole"),
    ServedResource(
        at.CLUSTER_ROLE_BINDINGS,
        TypedForm(at.CLUSTER_ROLE_BINDINGS, ClusterRoleBinding, _CLUSTER_ROLE_BINDING_RULES),
        "clusterrolebinding",
    ),
    ServedResource(
        at.DEFINITIONS,
        DefinitionForm(),
        "customresourcedefinition",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=("status",),
    ),
)
