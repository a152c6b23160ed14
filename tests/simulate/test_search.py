"""The search: what fails is made small, kept as a file, and fails when it is replayed."""

from pathlib import Path

import pytest

from tests.simulate.mutations import claims_ignored_while_none_exists
from understudy.simulate import faults
from understudy.simulate.invariants.step import CLAIMED
from understudy.simulate.scenario import Event, JobPlan, Lateness, NodePlan, Scenario
from understudy.simulate.search import Found, Shrinker, keep, read_found, search
from understudy.simulate.simulation import simulate

BUSY = Scenario(
    seed=5,
    mode="kube",
    noise=11,
    faults_until=40.0,
    nodes=(NodePlan("n0", "s0"), NodePlan("n1", "s0"), NodePlan("n2", "s1")),
    jobs=(
        JobPlan("j0", "Job", 2),
        JobPlan("j1", "JobSet", 2, 2, claim="claim-0", priority=10),
        JobPlan("j2", "MPIJob", 2),
    ),
    events=(
        Event(0.5, "submit", "j0"),
        Event(1.5, "submit", "j2"),
        Event(2.0, "break-watches", "replica-1", 1.0),
        Event(3.2, "submit", "j1"),
        Event(8.0, "partition", "n0", 20.0),
        Event(20.0, "kill", "replica-2", 2.0),
    ),
    late=(Lateness("replica-1", "pods", 0.3), Lateness("replica-2", "nodes", 0.3)),
)


def test_a_failing_scenario_is_shrunk_to_what_it_takes() -> None:
    with claims_ignored_while_none_exists():
        small = Shrinker(CLAIMED).shrunk(BUSY)
        violation = simulate(small).violation
    assert violation is not None
    assert violation.invariant == CLAIMED
    assert [job.name for job in small.jobs] == ["j1"]
    assert [event.does for event in small.events] == ["submit"]
    assert len(small.nodes) == 1
    assert small.late == ()


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    found = Found(CLAIMED, "words", BUSY)
    assert read_found(keep(found, tmp_path)) == found


def test_a_search_tells_every_seed() -> None:
    assert sorted(result.seed for result in search(range(6), workers=2)) == list(range(6))


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command turns logging and the garbage collector off for its process, which is not this one."""
    monkeypatch.setattr(faults, "prepare", lambda: None)


def test_the_command_shows_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert faults.main(["--seed", "0"]) == 0
    assert "seed 0: " in capsys.readouterr().out


def test_the_command_fails_where_a_seed_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with claims_ignored_while_none_exists():
        code = faults.main(
            ["--first", "0", "--seeds", "20", "--workers", "1", "--enough", "1", "--found", str(tmp_path)]
        )
    told = capsys.readouterr().out
    assert code == 1
    assert "made small" in told
    assert "VIOLATED" in told
    assert len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "0"], "have to be 1 or more"),
        (["--workers", "-1"], "have to be 1 or more"),
        (["--replay", "there-is-no-such-file.json"], "No such file"),
    ],
)
def test_a_search_of_nothing_and_a_file_that_is_not_there_are_refused_in_words(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        faults.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
