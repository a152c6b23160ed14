"""Graceful deletion: preconditions, finalizers, deletion timestamp and grace period of an object."""

import calendar
import time

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.errors import ApiError, bad_request, conflict
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.server.registry.state import rfc3339
from understudy.objects.resources import Resource

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_POLICIES = {"Foreground": (FOREGROUND,), "Orphan": (ORPHAN,), "Background": ()}


class Preconditions(msgspec.Struct, rename="camel", frozen=True, gc=False):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel", frozen=True, gc=False):
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: list[str] | None = None

    def check(self) -> None:
        if self.propagation_policy not in (None, "", *_POLICIES):
            raise bad_request(
                f'propagationPolicy: Unsupported value: "{self.propagation_policy}": '
                "use Background, Foreground or Orphan"
            )
        if self.propagation_policy and self.orphan_dependents is not None:
            raise bad_request("orphanDependents and propagationPolicy cannot both be set")

    @property
    def policy(self) -> str:
        if self.orphan_dependents is not None:
            return "Orphan" if self.orphan_dependents else "Background"
        return self.propagation_policy or ""


def check_preconditions(options: DeleteOptions, meta: ObjectMeta, resource: Resource) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    for field, asked, actual in (
        ("UID", wanted.uid, meta.uid),
        ("ResourceVersion", wanted.resource_version, meta.resource_version),
    ):
        if asked is not None and asked != actual:
            raise mismatch(resource, meta, f"{field} in precondition: {asked}, {field} in object meta: {actual}")


def mismatch(resource: Resource, meta: ObjectMeta, why: str) -> ApiError:
    return conflict(resource.plural, resource.group, str(meta.name), f"Precondition failed: {why}")


def begin_deletion(meta: ObjectMeta, grace: int, now: float) -> None:
    """Begins a deletion, or shortens the grace period of one. A longer grace period changes nothing."""
    if meta.deletion_timestamp is UNSET:
        begun = now
    else:
        before = meta.deletion_grace_period_seconds or 0
        if grace >= before:
            return
        begun = _seconds(meta.deletion_timestamp) - before
    meta.deletion_timestamp = rfc3339(begun + grace)
    meta.deletion_grace_period_seconds = grace
    if meta.generation:
        meta.generation += 1


def set_propagation(meta: ObjectMeta, policy: str) -> None:
    """Sets the finalizers that tell the garbage collector what to do with dependents. No policy: they stay as they
    are."""
    if not policy:
        return
    wanted = _POLICIES[policy]
    finalizers = [name for name in meta.finalizers or () if name not in (FOREGROUND, ORPHAN) or name in wanted]
    finalizers += [name for name in wanted if name not in finalizers]
    meta.finalizers = finalizers or UNSET


def is_deletion_complete(meta: ObjectMeta) -> bool:
    """Whether a deletion is complete: no finalizer and no grace period left."""
    return meta.deletion_timestamp is not UNSET and not meta.finalizers and not meta.deletion_grace_period_seconds


def _seconds(timestamp: str) -> float:
    return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S"))
