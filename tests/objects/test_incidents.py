"""An incident and its document say the same."""

import msgspec
import pytest

from tests.model.test_incidents import OPEN, RUNNING, SWAP
from understudy.model.incidents import Incident, with_decision, with_progress
from understudy.objects.incidents import document_of, incident_of

SWAPPED = with_progress(with_decision(OPEN, SWAP, 10.250001), RUNNING, 11.5)


@pytest.mark.parametrize("incident", [OPEN, SWAPPED])
def test_an_incident_comes_back_as_it_was_written(incident: Incident) -> None:
    assert incident_of(msgspec.json.encode(document_of(incident))) == incident


def test_times_have_microseconds_and_steps_their_seconds() -> None:
    status = document_of(SWAPPED)["status"]
    assert status["decidedAt"] == "1970-01-01T00:00:10.250001Z"
    assert status["seconds"] == {
        "detected": 0.1,
        "decided": 0.25,
        "victimsOut": None,
        "seated": 1.5,
        "running": 1.5,
        "total": 1.5,
    }
