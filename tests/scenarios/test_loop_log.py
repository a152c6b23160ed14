"""Actions are read from the log once, under the names of slots, which outlive their pods."""

from tests.scenarios.loop_log import LoopLog
from tests.scenarios.worlds import Swapped

SAID = "2026-01-01 00:00:00,000 INFO understudy.control.loop: "


def test_victims_and_swaps_are_read_once() -> None:
    log_reader = LoopLog({"ring-job-0-1-x7k2p": "ring-job-0-1"})
    log = [
        f"{SAID}preempt Job/default/low (2 pods) for Job/default/hero: priority 300 goes before 100",
        "2026-01-01 00:00:00,000 INFO understudy.kube.server: answering",
    ]
    log_reader.read(log)
    log += [f"{SAID}swap JobSet/default/ring: ring-job-0-1-x7k2p a -> b (victim), once Job/default/low left; a lost"]
    log += [f"{SAID}swap JobSet/default/ring: ring-job-0-1 (no seat) -> b (idle); a member has no seat"]
    log_reader.read(log)
    assert log_reader.history.victims == [("low", "hero")]
    assert log_reader.history.swaps == [Swapped("ring", "ring-job-0-1", "b", "victim")]
