"""The benchmark of spot machines does what its trace says, and counts what its ledgers say."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.hotswap.gangs import Gang
from bench.spot import report
from bench.spot.__main__ import main
from bench.spot.churn import Eviction, steps_of
from bench.spot.modes import MODES, detection_seconds, loop_of
from bench.spot.outcome import Outcome, lost_jobs, preemptions
from bench.spot.traces import Churn
from bench.spot.workload import Progress, progress


def told(events: list[Churn], notice: float | None) -> list[str]:
    return [f"{step.at:g} {step.act} {step.machine}" for step in steps_of(events, notice)]


def test_a_notice_comes_before_the_machine_goes_but_not_before_it_has_come() -> None:
    events = [Churn(5.0, False, "a"), Churn(6.0, True, "b"), Churn(7.0, False, "b")]
    assert told(events, 2.0) == ["3 notice a", "5 remove a", "6 add b", "6 notice b", "7 remove b"]
    assert told(events, None) == ["5 remove a", "6 add b", "7 remove b"]


def test_a_place_that_is_taken_again_at_once_is_emptied_first() -> None:
    assert told([Churn(1.0, True, "a"), Churn(1.0, False, "a")], None) == ["1 remove a", "1 add a"]


@pytest.mark.parametrize(
    ("eviction", "hits", "beaten"),
    [
        pytest.param(Eviction("a", 2, 0), True, True, id="all moved in time"),
        pytest.param(Eviction("a", 2, 1), True, False, id="one was still there"),
        pytest.param(Eviction("a", 0, 0), False, False, id="it was idle"),
        pytest.param(Eviction("a", 0, 1), True, False, id="a member came after the notice"),
    ],
)
def test_an_eviction_is_beaten_when_its_members_are_gone_before_the_machine(
    eviction: Eviction, hits: bool, beaten: bool
) -> None:
    assert (eviction.hits, eviction.is_beaten) == (hits, beaten)


def test_steps_that_were_done_twice_are_lost(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "ledger-0").write_text("1 0.1\n2 0.2\n3 0.3\n2 0.4\n3 0.5\n4 0.6\n5")
    assert progress(tmp_path, "train") == Progress("train", steps=4, lost=2)
    assert progress(tmp_path, "never-began") == Progress("never-began", 0, 0)


def test_jobs_that_failed_or_are_gone_are_lost() -> None:
    failed = {"type": "Failed", "status": "True"}
    jobs: list[dict[str, Any]] = [
        {"metadata": {"name": "well"}},
        {"metadata": {"name": "bad"}, "status": {"conditions": [failed]}},
    ]
    assert lost_jobs(jobs, [Gang(name=name, size=1) for name in ("well", "bad", "gone")]) == 2


def test_preemptions_are_those_of_jobs() -> None:
    def event(kind: str, reason: str, **more: Any) -> dict[str, Any]:
        return {"reason": reason, "involvedObject": {"kind": kind}, **more}

    events = [event("Job", "Preempted", count=2), event("Pod", "Preempted"), event("Job", "Resumed")]
    assert preemptions([*events, event("Job", "Preempted", series={"count": 3})]) == 5


def test_only_restart_waits_as_long_as_stock_kubernetes_sped_up() -> None:
    assert detection_seconds(50) == 7.0
    assert detection_seconds(1000) == 3.0
    assert "health" not in loop_of(MODES["notices"], 50)
    assert loop_of(MODES["restart"], 50)["health"] == {"leaseSuspect": 6.5, "leaseLost": 7.0}


def outcome(mode: str, jobs_lost: int = 0) -> Outcome:
    return Outcome(mode, 1000, 31117.4, 3, 1, 60, 20.0, jobs_lost, 2, 0.032, 12.0)


def test_the_modes_stand_side_by_side_and_a_lost_job_is_a_failure() -> None:
    both = [outcome("notices"), outcome("ignored")]
    shown = report.lines(both)
    assert shown[0].split() == ["notices", "ignored"]
    assert shown[1].split() == ["useful", "steps", "per", "machine-hour", "31,117", "31,117"]
    assert report.is_clean(both)
    assert not report.is_clean([*both, outcome("restart", jobs_lost=1)])


def test_an_unknown_trace_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--trace", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--speed", "0"])
    assert "--speed is too small" in capsys.readouterr().err


@pytest.mark.thorough
def test_machines_go_and_the_job_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """How many steps are lost, and whether the eviction was beaten, depends on the machine and is not asked here."""
    trace = tmp_path / "trace.csv"
    trace.write_text("0,add,a\n0,add,b\n0,add,c\n4000,remove,a\n7000,add,d\n7000,remove,b\n12000,remove,c\n")
    size = ["--spot", "3", "--on-demand", "0", "--jobs", "2", "--speed", "1", "--begin", "0", "--seconds", "11"]
    assert main(["--trace", str(trace), *size, "--notice", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["mode"] for one in found] == ["notices", "ignored", "restart"]
    for one in found:
        assert one["steps"] > 0
        assert one["jobs_lost"] == 0
        assert one["steps_lost"] >= 0
        assert 20 < one["machine_hours"] * 3600 < 33
    assert found[1]["beaten"] == found[2]["beaten"] == 0
