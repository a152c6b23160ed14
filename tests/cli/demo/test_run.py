"""The table at the end of a story: a row an incident, median and p99 of each step, and stock Kubernetes beside it."""

from msgspec.structs import replace

from tests.model.test_incidents import OPEN, RUNNING, SWAP
from understudy.cli.demo.run import MOST, incident_table
from understudy.model.incidents import Incident, with_decision, with_progress


def lasting(total: float, cause: str = "node a lost") -> Incident:
    swapped = with_progress(with_decision(OPEN, SWAP, 10.2), RUNNING, 10.25)
    return replace(swapped, cause=cause, running_at=swapped.began_at + total)


def test_each_incident_has_its_row_and_each_step_its_median_and_p99() -> None:
    out = replace(lasting(0.4, "node b lost"), victims_out_at=10.3)
    assert "\n".join(incident_table([lasting(0.3), out])).splitlines() == [
        "CAUSE        DETECTED  DECIDED  VICTIMS OUT  SEATED  RUNNING  TOTAL",
        "node a lost  0.100s    0.200s   -            0.250s  0.300s   0.300s",
        "node b lost  0.100s    0.200s   0.300s       0.250s  0.400s   0.400s",
        "",
        "median       0.100s    0.200s   0.300s       0.250s  0.350s   0.350s",
        "p99          0.100s    0.200s   0.300s       0.250s  0.400s   0.400s",
        "",
        "Stock Kubernetes takes about 350 s for the same (50 s until it notices, 300 s of toleration),",
        "and then the pod hangs: 1,000 times as long.",
    ]


def test_of_many_the_slowest_are_shown_and_all_count() -> None:
    many = [lasting(0.3 + number / 100, f"node n-{number} lost") for number in range(MOST + 2)]
    said = "\n".join(incident_table(many))
    assert said.count(" lost ") == MOST
    assert "n-0 " not in said
    assert f"Shown are the {MOST} slowest of {MOST + 2} incidents" in said
    assert "0.405s" in next(line for line in said.splitlines() if line.startswith("median"))


def test_the_ratio_is_told_as_roughly_as_it_is_known() -> None:
    assert ": 1,700 times as long." in "\n".join(incident_table([lasting(0.208)]))
    assert ": 7 times as long." in "\n".join(incident_table([lasting(52.0)]))
