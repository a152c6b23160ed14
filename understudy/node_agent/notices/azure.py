"""Azure: Scheduled Events into announcements. They name the virtual machines they are about."""

import email.utils

import msgspec

from understudy.node_agent.notices.announcements import Announcement, Announcements, Endpoint, Source

EVENT_TYPES = ("Preempt", "Terminate", "Redeploy", "Reboot", "Freeze")
_OPEN = ("Scheduled", "Started")  # an event that is over is no longer listed


class _Event(msgspec.Struct, frozen=True, rename="pascal"):
    event_type: str
    resources: list[str]
    event_status: str = "Scheduled"
    not_before: str = ""  # empty once the event has started


class _Document(msgspec.Struct, frozen=True, rename="pascal"):
    events: list[_Event]


_decode = msgspec.json.Decoder(_Document).decode


def parse_events(body: bytes) -> Announcements:
    try:
        events = _decode(body).events
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    return tuple(_announcement(one) for one in events if _ends_machines(one))


def _ends_machines(event: _Event) -> bool:
    return event.event_type in EVENT_TYPES and event.event_status in _OPEN and bool(event.resources)


def _announcement(event: _Event) -> Announcement:
    machines = frozenset(name.lower() for name in event.resources)
    return Announcement(event.event_type, deadline=_time(event.not_before), machines=machines)


def _time(text: str) -> float | None:
    """`Mon, 19 Sep 2026 18:29:47 GMT`. Without a time that can be read, the machine may go at any moment."""
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except ValueError:
        return None


def machine_name(provider_id: str) -> str:
    """The name by which events call the machine of a node; '' if its provider ID does not say."""
    parts = provider_id.split("/")
    lower = [part.lower() for part in parts]
    if "virtualmachines" not in lower or not (name := "/".join(parts[lower.index("virtualmachines") + 1 :])):
        return ""
    if "virtualmachinescalesets" in lower:
        return f"{parts[lower.index('virtualmachinescalesets') + 1]}_{name}"
    return name


AZURE = Source(
    name="azure",
    address="http://169.254.169.254",
    endpoints=(
        Endpoint("/metadata/scheduledevents?api-version=2020-07-01", parse_events, headers=(("Metadata", "true"),)),
    ),
)
