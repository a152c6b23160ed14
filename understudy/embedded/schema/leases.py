"""Leases: who holds something, and until when."""

from msgspec import UNSET, field

from understudy.embedded.schema.meta import KubeObject, Part
from understudy.embedded.schema.values import Int32, Maybe, Time


class LeaseSpec(Part):
    """Who holds the lease, and for how long."""

    acquire_time: Maybe[Time] = UNSET
    holder_identity: Maybe[str] = UNSET
    lease_duration_seconds: Maybe[Int32] = UNSET
    lease_transitions: Maybe[Int32] = UNSET
    preferred_holder: Maybe[str] = UNSET
    renew_time: Maybe[Time] = UNSET
    strategy: Maybe[str] = UNSET


class Lease(KubeObject, kw_only=True):
    """Something that one party holds and must renew."""

    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
    spec: LeaseSpec = field(default_factory=LeaseSpec)
