"""The benchmark itself: it runs small, from recorded lists over HTTP to the first binding, and says what it found."""

import json
import re

import msgspec
import pytest

from bench.scale import table
from bench.scale.__main__ import main
from bench.scale.recording import Layout, Recording
from understudy.objects.bulk_decoding import BULK_DECODERS
from understudy.objects.resources import JOB_SETS, JOBS, PODS


@pytest.mark.thorough
def test_a_small_cluster_is_started_and_sent_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json", "--repeats", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nodes"], found["pods"]) == (512, 3000)
    assert found["start"]["nodes"] == 512
    assert found["start"]["starts"] >= 1
    assert 0 < found["start"]["imported"] < found["start"]["first_bind"]
    assert found["decoding"]["ours"]["objects"] == found["decoding"]["dicts"]["objects"] == 3512
    assert found["events"]["leases"] > 0
    text = "\n".join(table.lines(found))
    assert "MISSED" not in text  # the targets are for the full size
    assert re.search(r"first decision at the API server, wall +\d", text)


def test_a_recording_is_what_an_api_server_would_list() -> None:
    recording = Recording(Layout(64, 496))
    again = Recording(Layout(64, 496))
    assert recording.lists["pods"] == again.lists["pods"]
    pods = [msgspec.json.decode(text) for text in recording.lists["pods"]]
    assert len({(p["metadata"]["namespace"], p["metadata"]["name"]) for p in pods}) == len(pods) == 496
    assert len({p["metadata"]["uid"] for p in pods}) == 496
    assert not any("kind" in p for p in pods)
    page = b'{"metadata":{},"items":[' + b",".join(recording.lists["pods"]) + b"]}"
    assert len(BULK_DECODERS[PODS].page(page).objects) == 496
    owners = {p["metadata"]["ownerReferences"][0]["uid"] for p in pods}
    jobs = {msgspec.json.decode(text)["metadata"]["uid"] for text in recording.lists["jobs"]}
    assert jobs <= owners
    assert len(recording.lists[JOB_SETS.plural]) < len(recording.lists[JOBS.plural])


def test_leases_are_taken_off_what_other_events_cost() -> None:
    def phase(cpu: float, **pushed: int) -> dict[str, object]:
        return {"cpu_seconds": cpu, "wall_seconds": 10.0, "pushed": {**dict.fromkeys(table.SORTS, 0), **pushed}}

    claims = "persistentvolumeclaims"
    phases = {
        "leases": phase(1.0, leases=1000),
        "pods": phase(3.0, pods=500),
        "nodes": phase(0.5, nodes=50),
        claims: phase(1.5, **{claims: 100}),
    }
    assert table.event_costs(phases) == {"leases": 1.0, "leases_share": 0.1, "pods": 4.0, "nodes": 0.0, claims: 5.0}
