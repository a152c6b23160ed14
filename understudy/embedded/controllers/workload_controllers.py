"""The controllers of Kubernetes' own workloads that run on, of CronJobs and of EndpointSlices, for clusters where no
kube-controller-manager runs. Pods of workloads that run on are gangs of one."""

from understudy.kinds.children import daemonset, endpoint_slices, replicaset
from understudy.kinds.children.cronjob import reconcile as cronjob
from understudy.kinds.children.deployment import reconcile as deployment
from understudy.kinds.children.statefulset import reconcile as statefulset
from understudy.kinds.job_kind import JobController
from understudy.objects.resources import (
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)

WORKLOADS: tuple[JobController, ...] = (
    JobController(DEPLOYMENTS, (REPLICA_SETS,), deployment.reconcile),
    JobController(REPLICA_SETS, (PODS,), replicaset.reconcile),
    JobController(STATEFUL_SETS, (PODS, CONTROLLER_REVISIONS), statefulset.reconcile),
    JobController(DAEMON_SETS, (PODS, CONTROLLER_REVISIONS), daemonset.reconcile, reads=(NODES,)),
    JobController(ENDPOINTS, (ENDPOINT_SLICES,), endpoint_slices.reconcile),
    JobController(CRON_JOBS, (JOBS,), cronjob.reconcile),
)
