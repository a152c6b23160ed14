"""What must be true of the incidents of a cluster at rest, whatever faults and kills came before."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from tests.objects.documents import Document
from understudy.model.incidents import STEPS, Incident
from understudy.model.nodes import Verdict
from understudy.model.snapshot import Snapshot
from understudy.objects.incidents import incident_of


def wrong_incidents(kept: Iterable[Document], snapshot: Snapshot) -> Iterator[str]:
    incidents = [incident_of(msgspec.json.encode(document)) for document in kept]
    for incident in incidents:
        times = [at for step in STEPS if (at := incident.at(step)) is not None]
        if times != sorted(times):
            yield f"the times of {incident.name} run backwards: {times}"
        if incident.open and _is_sound(incident, snapshot):
            yield f"{incident.name} is open, and its gang is whole or gone: {incident}"
    for (gang, _), count in Counter((one.gang, one.uid) for one in incidents if one.open).items():
        if count > 1:
            yield f"{gang} has {count} open incidents"
    for (gang, name), count in Counter((one.gang, str((one.nodes, one.failed_at))) for one in incidents).items():
        if count > 1:
            yield f"{gang} has {count} incidents of one loss: {name}"


def _is_sound(incident: Incident, snapshot: Snapshot) -> bool:
    gang = snapshot.gangs.get(incident.gang)
    if gang is None:
        return True
    verdicts = {snapshot.nodes[m.node].node.health.verdict for m in gang.seated()}
    return not gang.unseated() and not gang.leaving and not verdicts - {Verdict.HEALTHY, Verdict.SUSPECT}
