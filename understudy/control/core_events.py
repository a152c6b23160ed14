"""Events of the core API, which count themselves: what an embedded cluster serves."""

from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.control.happenings import About, Allowance, Happening, cut
from understudy.kinds.annotations import format_time
from understudy.objects.resources import EVENTS, Resource

COMPONENT = "understudy"
LONGEST_MESSAGE = 1024  # what Kubernetes takes in an event


class CoreEvents(msgspec.Struct, frozen=True):
    @property
    def resource(self) -> Resource:
        return EVENTS

    @property
    def allowance(self) -> Allowance | None:
        return None

    def alike(self, about: About, happening: Happening) -> str:
        return "\n".join((about.uid, about.kind, happening.reason, happening.message))

    def new(self, name: str, about: About, happening: Happening, now: float) -> dict[str, Any]:
        moment = format_time(int(now))
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": about.namespace or "default"},
            "involvedObject": about.reference(),
            "reason": happening.reason,
            "message": cut(happening.message, LONGEST_MESSAGE),
            "type": happening.type,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": COMPONENT,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }

    def again(self, count: int, now: float) -> dict[str, Any]:
        return {"count": count, "lastTimestamp": format_time(int(now))}

    def count(self, event: Mapping[str, Any]) -> int:
        return int(event.get("count") or 1)
