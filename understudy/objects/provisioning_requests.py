"""ProvisioningRequest of the cluster autoscaler: the part that says whether machines come for it."""

from understudy.objects.meta import Condition, KubeObject, Part, seconds
from understudy.objects.pods import Named

ENDED = ("Failed", "BookingExpired", "CapacityRevoked")  # of these types, a true condition is the last word


class PodSet(Part, frozen=True, gc=False):
    pod_template_ref: Named
    count: int = 1


class ProvisioningRequestSpec(Part, frozen=True, gc=False):
    pod_sets: tuple[PodSet, ...] = ()


class ProvisioningRequestStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class ProvisioningRequest(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: ProvisioningRequestSpec
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()

    @property
    def end(self) -> Condition | None:
        """The condition that ended it; None: machines may still come, or have come."""
        return next((one for one in self.status.conditions if one.type in ENDED and one.status == "True"), None)

    @property
    def ended_at(self) -> float | None:
        end = self.end
        if end is None:
            return None
        return seconds(end.last_transition_time or self.metadata.creation_timestamp) or 0.0
