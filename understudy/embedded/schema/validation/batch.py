"""Jobs: defaults, the generated selector, checks, and immutable fields."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.batch import Job, JobSpec, JobStatus, PodFailurePolicyRule
from understudy.embedded.schema.types.meta import LabelSelector
from understudy.embedded.schema.validation import pod_spec, selectors
from understudy.embedded.schema.validation.metadata import alike

UID_LABEL = "batch.kubernetes.io/controller-uid"
NAME_LABEL = "batch.kubernetes.io/job-name"
_LEGACY = {"controller-uid": UID_LABEL, "job-name": NAME_LABEL}
_NO_LIMIT = 2**31 - 1
_FIXED = (
    "completion_mode",
    "pod_failure_policy",
    "backoff_limit_per_index",
    "success_policy",
    "managed_by",
    "selector",
)
_STEERING = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
_MAX_PARALLEL_INDEXED = 100_000


def complete(job: Job) -> None:
    complete_spec(job.spec)


def complete_spec(spec: JobSpec) -> None:
    pod_spec.complete(spec.template.spec)
    if spec.completions is UNSET and spec.parallelism is UNSET:
        spec.completions = 1
    if spec.parallelism is UNSET:
        spec.parallelism = 1
    if spec.backoff_limit is UNSET:
        spec.backoff_limit = 6 if spec.backoff_limit_per_index is UNSET else _NO_LIMIT
    if spec.pod_replacement_policy is UNSET:
        spec.pod_replacement_policy = "TerminatingOrFailed" if spec.pod_failure_policy is UNSET else "Failed"


def begin(job: Job, _: Lookup) -> None:
    template = job.spec.template.metadata
    if not job.metadata.labels and template.labels:
        job.metadata.labels = dict(template.labels)
    job.status = JobStatus()
    if job.spec.manual_selector is True:
        return
    own = {UID_LABEL: job.metadata.uid or "", NAME_LABEL: job.metadata.name or ""}
    legacy = {old: own[new] for old, new in _LEGACY.items()}
    template.labels = {**(template.labels or {}), **legacy, **own}
    selector = job.spec.selector or LabelSelector()
    selector.match_labels = {**(selector.match_labels or {}), UID_LABEL: own[UID_LABEL]}
    job.spec.selector = selector


def check(job: Job) -> Iterator[Cause]:
    spec = job.spec
    yield from pod_spec.check_template(spec.template, "spec.template", ("OnFailure", "Never"))
    yield from _selector(job)
    yield from _indexes(spec)
    yield from _failure_policy(spec)
    if spec.success_policy is not UNSET and spec.completion_mode != "Indexed":
        yield causes.bad_value("spec.successPolicy", spec.success_policy, "requires indexed completion mode")


def _selector(job: Job) -> Iterator[Cause]:
    spec = job.spec
    yield from selectors.label_selector(spec.selector, "spec.selector")
    wanted = spec.selector.match_labels if spec.selector else None
    if not wanted:
        yield causes.required("spec.selector")
        return
    labels = spec.template.metadata.labels or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        yield causes.bad_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if spec.manual_selector is not True and (wanted.keys() != {UID_LABEL} or wanted[UID_LABEL] != job.metadata.uid):
        yield causes.bad_value("spec.selector", spec.selector, "`selector` not auto-generated")


def _indexes(spec: JobSpec) -> Iterator[Cause]:
    if spec.completion_mode == "Indexed":
        if spec.completions is UNSET:
            yield causes.required("spec.completions", "when completion mode is Indexed")
        if spec.parallelism is not UNSET and spec.parallelism > _MAX_PARALLEL_INDEXED:
            yield causes.bad_value(
                "spec.parallelism",
                spec.parallelism,
                f"must be less than or equal to {_MAX_PARALLEL_INDEXED} when completion mode is Indexed",
            )
    elif spec.backoff_limit_per_index is not UNSET:
        yield causes.bad_value(
            "spec.backoffLimitPerIndex", spec.backoff_limit_per_index, "requires indexed completion mode"
        )
    if spec.max_failed_indexes is UNSET:
        return
    if spec.backoff_limit_per_index is UNSET:
        yield causes.required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    elif spec.completions is not UNSET and spec.max_failed_indexes > spec.completions:
        yield causes.bad_value(
            "spec.maxFailedIndexes", spec.max_failed_indexes, "must be less than or equal to completions"
        )


def _failure_policy(spec: JobSpec) -> Iterator[Cause]:
    if spec.pod_failure_policy is UNSET:
        return
    policy = spec.template.spec.restart_policy
    if policy != "Never":
        yield causes.bad_value(
            "spec.template.spec.restartPolicy", policy, 'only "Never" is supported when podFailurePolicy is specified'
        )
    for i, rule in enumerate(spec.pod_failure_policy.rules):
        yield from _failure_rule(rule, spec, f"spec.podFailurePolicy.rules[{i}]")


def _failure_rule(rule: PodFailurePolicyRule, spec: JobSpec, field: str) -> Iterator[Cause]:
    if rule.action == "FailIndex" and spec.backoff_limit_per_index is UNSET:
        yield causes.bad_value(f"{field}.action", "FailIndex", "requires the backoffLimitPerIndex to be set")
    if rule.on_exit_codes is not UNSET and rule.on_pod_conditions:
        yield causes.bad_value(field, rule, "specifying both OnExitCodes and OnPodConditions is not supported")
    if rule.on_exit_codes is UNSET and not rule.on_pod_conditions:
        yield causes.bad_value(field, rule, "specifying one of OnExitCodes and OnPodConditions is required")
    if rule.on_exit_codes is UNSET:
        return
    values = rule.on_exit_codes.values
    if not values:
        yield causes.bad_value(f"{field}.onExitCodes.values", values, "at least one value is required")
    if rule.on_exit_codes.operator == "In" and 0 in values:
        yield causes.bad_value(f"{field}.onExitCodes.values[{values.index(0)}]", 0, "must not be 0 for the In operator")
    if values != sorted(set(values)):
        yield causes.bad_value(f"{field}.onExitCodes.values", values, "must be ordered and without duplicates")


def changed(new: Job, old: Job) -> Iterator[Cause]:
    for name in _FIXED:
        if not alike(getattr(new.spec, name), getattr(old.spec, name)):
            yield _immutable(msgspec.structs.fields(JobSpec), name, getattr(new.spec, name))
    if not _may_resize(new.spec, old.spec):
        yield causes.bad_value("spec.completions", new.spec.completions or 0, "field is immutable")
    steerable = old.spec.suspend and old.status.start_time is UNSET
    if not alike(_template(new.spec, steerable), _template(old.spec, steerable)):
        yield causes.bad_value("spec.template", new.spec.template, "field is immutable")


def _immutable(fields: tuple[msgspec.structs.FieldInfo, ...], name: str, value: Any) -> Cause:
    written = next(field.encode_name for field in fields if field.name == name)
    return causes.bad_value(f"spec.{written}", None if value is UNSET else value, "field is immutable")


def _may_resize(new: JobSpec, old: JobSpec) -> bool:
    """An indexed job grows and shrinks as long as all of its indexes run at once."""
    elastic = new.completion_mode == "Indexed" and new.completions == new.parallelism
    return elastic or alike(new.completions, old.completions)


def _template(spec: JobSpec, steerable: bool) -> dict[str, Any]:
    """The part of a template that may not change. While the job waits suspended, the scheduling fields may still
    change."""
    plain: dict[str, Any] = msgspec.to_builtins(spec.template, enc_hook=str)
    if steerable:
        plain.pop("metadata", None)
        for name in _STEERING:
            plain["spec"].pop(name, None)
    return plain
