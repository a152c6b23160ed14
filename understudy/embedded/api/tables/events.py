"""Events as kubectl prints them."""

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import MetaFields, PrintedFields, Printer, Row, wide
from understudy.embedded.schema.served_resource import Column


class InvolvedFields(PrintedFields, frozen=True):
    kind: str = ""
    name: str = ""
    field_path: str = ""


class SourceFields(PrintedFields, frozen=True):
    component: str = ""
    host: str = ""


class SeriesFields(PrintedFields, frozen=True):
    count: int = 0
    last_observed_time: str = ""


class EventFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    involved_object: InvolvedFields = InvolvedFields()
    type: str = ""
    reason: str = ""
    message: str = ""
    source: SourceFields = SourceFields()
    first_timestamp: str = ""
    last_timestamp: str = ""
    event_time: str = ""
    count: int = 0
    series: SeriesFields | None = None
    reporting_component: str = ""
    reporting_instance: str = ""


_COLUMNS = (
    Column("Last Seen", description="When it happened last."),
    Column("Type", description="Normal, or Warning."),
    Column("Reason", description="What happened, in a word."),
    Column("Object", description="The object it happened to."),
    wide("Subobject", "The part of the object."),
    wide("Source", "Who reports it."),
    Column("Message", description="What happened, in a sentence."),
    wide("First Seen", "When it happened first."),
    wide("Count", "How often it happened."),
    Column("Name", format="name", priority=1, description="Name of the event."),
)


def _row(event: EventFields, now: float) -> Row:
    first = event.first_timestamp or event.event_time
    last, count = event.last_timestamp or first, event.count or 1
    if event.series:
        last, count = event.series.last_observed_time, event.series.count
    involved = event.involved_object
    return Row(
        [
            age(last, now),
            event.type,
            event.reason,
            "/".join(part for part in (involved.kind.lower(), involved.name) if part),
            involved.field_path,
            _source(event),
            event.message.strip(),
            age(first, now),
            count,
            event.metadata.name,
        ]
    )


def _source(event: EventFields) -> str:
    component = event.source.component or event.reporting_component
    host = event.source.host or event.reporting_instance
    return f"{component}, {host}" if host else component


EVENTS = Printer(_COLUMNS, EventFields, _row)
