"""A kept run is judged as the run itself was."""

from pathlib import Path

from tests.chaos.judge import recording
from tests.chaos.judge.invariants import judge
from tests.chaos.judge.stories import case, claim, job, line, node, pod, preempted, storm, submission


def test_what_was_kept_is_judged_once_more(tmp_path: Path) -> None:
    partial = (job(1), pod(300, "0", "a"), pod(330, "1", "b"))
    more = (node(1, "a", domain="slice-0"), claim(400, "data"), preempted("train", "high", 350.0))
    gangs = [submission(claims=("data",)), submission("high", size=1, priority=1000)]
    played = case(*partial, *more, ledger=[line(301.0, "start", "0")], faults=storm(0), gangs=gangs)
    played.cordons = [("b", 310.0)]
    recording.write(played, tmp_path)
    kept = recording.read(tmp_path)
    assert judge(kept) == judge(played)
    assert {one.kind for one in judge(kept)} >= {"partial_start", "seated_without_claim", "preemption_in_vain"}
    assert kept.cordons == played.cordons
