"""DrainRequest of NVIDIA's NVSentinel: a node is to be emptied before it is repaired, and the answer stands in its
status."""

from collections.abc import Mapping
from typing import Any

from understudy.objects.meta import KubeObject, Part

DRAIN_COMPLETE = "DrainComplete"


class DrainRequestSpec(Part, frozen=True, gc=False):
    node_name: str
    check_name: str = ""
    pods_to_drain: Mapping[str, tuple[str, ...]] = {}  # by namespace


class DrainRequestStatus(Part, frozen=True, gc=False):
    conditions: tuple[dict[str, Any], ...] = ()  # with all fields, since a patch replaces the list


class DrainRequest(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: DrainRequestSpec
    status: DrainRequestStatus = DrainRequestStatus()

    @property
    def complete(self) -> bool:
        return any(one.get("type") == DRAIN_COMPLETE and one.get("status") == "True" for one in self.status.conditions)
