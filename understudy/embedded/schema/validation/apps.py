"""Deployments, ReplicaSets, StatefulSets and DaemonSets: defaults, checks, and immutable fields."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.apps import (
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
    Deployment,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetStatus,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetStatus,
)
from understudy.embedded.schema.types.values import IntOrString
from understudy.embedded.schema.validation import pod_spec, selectors
from understudy.embedded.schema.validation.metadata import alike
from understudy.objects.meta import LabelSelector
from understudy.objects.selectors import selector_of

AnyWorkload = Deployment | ReplicaSet | StatefulSet | DaemonSet
_PERCENTAGE = re.compile(r"[0-9]+%", re.ASCII)
_STATEFUL_MUTABLE = (
    "replicas", "ordinals", "template", "update_strategy", "revision_history_limit",
    "persistent_volume_claim_retention_policy", "min_ready_seconds",
)  # fmt: skip


def complete_deployment(deployment: Deployment) -> None:
    pod_spec.complete(deployment.spec.template.spec)
    strategy = deployment.spec.strategy
    if strategy.type == "RollingUpdate" and strategy.rolling_update is UNSET:
        strategy.rolling_update = RollingUpdateDeployment()


def complete_replica_set(replica_set: ReplicaSet) -> None:
    pod_spec.complete(replica_set.spec.template.spec)


def complete_stateful_set(stateful: StatefulSet) -> None:
    pod_spec.complete(stateful.spec.template.spec)
    strategy = stateful.spec.update_strategy
    if strategy.type == "RollingUpdate" and strategy.rolling_update is UNSET:
        strategy.rolling_update = RollingUpdateStatefulSetStrategy()
    for claim in stateful.spec.volume_claim_templates or ():
        claim.api_version, claim.kind = "v1", "PersistentVolumeClaim"


def complete_daemon_set(daemons: DaemonSet) -> None:
    pod_spec.complete(daemons.spec.template.spec)
    strategy = daemons.spec.update_strategy
    if strategy.type == "RollingUpdate" and strategy.rolling_update is UNSET:
        strategy.rolling_update = RollingUpdateDaemonSet()


def begin(workload: AnyWorkload, _: Lookup) -> None:
    """A new object has no status yet; a ReplicaSet without labels has those of its pods."""
    match workload:
        case Deployment():
            workload.status = DeploymentStatus()
        case StatefulSet():
            workload.status = StatefulSetStatus()
        case DaemonSet():
            workload.status = DaemonSetStatus()
        case ReplicaSet():
            workload.status = ReplicaSetStatus()
            if not workload.metadata.labels and workload.spec.template.metadata.labels:
                workload.metadata.labels = dict(workload.spec.template.metadata.labels)


def check(workload: AnyWorkload) -> Iterator[Cause]:
    spec = workload.spec
    claims = (workload.spec.volume_claim_templates or ()) if isinstance(workload, StatefulSet) else ()
    claimed = [claim.metadata.name or "" for claim in claims]
    yield from pod_spec.check_template(spec.template, "spec.template", ("Always",), claimed)
    if spec.template.spec.active_deadline_seconds is not UNSET:
        yield causes.not_allowed(
            "spec.template.spec.activeDeadlineSeconds", "activeDeadlineSeconds in ReplicaSet is not Supported"
        )
    yield from _selector(workload)
    match workload:
        case Deployment():
            yield from _deployment_limits(workload)
        case DaemonSet():
            yield from _daemon_limits(workload)
        case StatefulSet():
            yield from _claims(workload)


def _selector(workload: AnyWorkload) -> Iterator[Cause]:
    given = workload.spec.selector
    yield from selectors.label_selector(given, "spec.selector")
    if not given.match_labels and not given.match_expressions:
        yield causes.bad_value("spec.selector", {}, "empty selector is invalid")
        return
    labels = workload.spec.template.metadata.labels or {}
    selector = selector_of(msgspec.convert(msgspec.to_builtins(given), LabelSelector))
    if selector is not None and not selector.matches(labels):
        yield causes.bad_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _deployment_limits(deployment: Deployment) -> Iterator[Cause]:
    spec = deployment.spec
    if spec.progress_deadline_seconds <= (spec.min_ready_seconds or 0):
        yield causes.bad_value(
            "spec.progressDeadlineSeconds", spec.progress_deadline_seconds, "must be greater than minReadySeconds"
        )
    rolling = spec.strategy.rolling_update
    if spec.strategy.type == "Recreate" and rolling:
        yield causes.not_allowed(
            "spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"
        )
    elif rolling:
        where = "spec.strategy.rollingUpdate"
        yield from _amount(rolling.max_surge, child(where, "maxSurge"))
        yield from _amount(rolling.max_unavailable, child(where, "maxUnavailable"))
        if _is_zero(rolling.max_surge) and _is_zero(rolling.max_unavailable):
            yield causes.bad_value(
                child(where, "maxUnavailable"), rolling.max_unavailable, "may not be 0 when `maxSurge` is 0"
            )


def _daemon_limits(daemons: DaemonSet) -> Iterator[Cause]:
    rolling = daemons.spec.update_strategy.rolling_update
    if not rolling:
        return
    where = "spec.updateStrategy.rollingUpdate"
    yield from _amount(rolling.max_unavailable, child(where, "maxUnavailable"))
    if not _is_zero(rolling.max_surge):
        yield causes.not_allowed(child(where, "maxSurge"), "an embedded cluster has no surge; set maxUnavailable")
    elif _is_zero(rolling.max_unavailable):
        yield causes.required(child(where, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def _amount(value: IntOrString, field: str) -> Iterator[Cause]:
    if isinstance(value, int):
        if value < 0:
            yield causes.bad_value(field, value, "must be greater than or equal to 0")
    elif not _PERCENTAGE.fullmatch(value):
        yield causes.bad_value(field, value, "must be an integer or percentage (e.g '5%%')")


def _is_zero(value: IntOrString) -> bool:
    return value == 0 or value == "0%"


def _claims(stateful: StatefulSet) -> Iterator[Cause]:
    for i, claim in enumerate(stateful.spec.volume_claim_templates or ()):
        where = member("spec.volumeClaimTemplates", i)
        if not claim.metadata.name:
            yield causes.required(child(where, "metadata.name"))
        if not claim.spec.access_modes:
            yield causes.required(child(where, "spec.accessModes"), "at least 1 access mode is required")


def changed(new: AnyWorkload, old: AnyWorkload) -> Iterator[Cause]:
    if not isinstance(new, StatefulSet) and not alike(new.spec.selector, old.spec.selector):
        yield causes.bad_value("spec.selector", new.spec.selector, "field is immutable")
    if isinstance(new, StatefulSet):
        yield from _changed_stateful_set(new, old)


def _changed_stateful_set(new: StatefulSet, old: AnyWorkload) -> Iterator[Cause]:
    fixed = [name for name in new.spec.__struct_fields__ if name not in _STATEFUL_MUTABLE]
    if any(not alike(getattr(new.spec, name), getattr(old.spec, name)) for name in fixed):
        yield causes.not_allowed(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def check_revision(revision: ControllerRevision) -> Iterator[Cause]:
    if revision.revision < 0:
        yield causes.bad_value("revision", revision.revision, "must be greater than or equal to 0")


def changed_revision(new: ControllerRevision, old: ControllerRevision) -> Iterator[Cause]:
    if not alike(new.data, old.data):
        yield causes.bad_value("data", _shown(new.data), "field is immutable")


def _shown(data: Any) -> Any:
    return None if data is UNSET else data
