"""Events: what happened to an object, in words."""

from msgspec import UNSET, field

from understudy.embedded.schema.meta import KubeObject, Part
from understudy.embedded.schema.references import ObjectReference
from understudy.embedded.schema.values import Int32, Maybe, Time


class EventSource(Part):
    """Who reported the event."""

    component: Maybe[str] = UNSET
    host: Maybe[str] = UNSET


class EventSeries(Part):
    """An event that goes on."""

    count: Maybe[Int32] = UNSET
    last_observed_time: Maybe[Time] = UNSET


class Event(KubeObject, kw_only=True):
    """Something that happened to an object."""

    api_version: str = "v1"
    kind: str = "Event"
    involved_object: ObjectReference
    action: Maybe[str] = UNSET
    count: Maybe[Int32] = UNSET
    event_time: Maybe[Time] = UNSET
    first_timestamp: Maybe[Time] = UNSET
    last_timestamp: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    related: Maybe[ObjectReference] = UNSET
    reporting_component: str = ""
    reporting_instance: str = ""
    series: Maybe[EventSeries] = UNSET
    source: EventSource = field(default_factory=EventSource)
    type: Maybe[str] = UNSET
