"""docs/reference/chaos.md says what the code does: faults and how long they last, violations and their limits."""

import re

import pytest

from tests.chaos import fault_schedule
from tests.chaos.fault_schedule import SCHEDULE
from tests.chaos.judge import case, invariants, preemptions
from tests.chaos.run import ROUND, ROUNDS
from tests.chaos.users import LONGEST_WITHOUT_CLAIM
from understudy.embedded.clusters.component import package_root

REFERENCE = (package_root() / "docs" / "reference" / "chaos.md").read_text()


def rows(title: str) -> dict[str, str]:
    """What the table under this title says, by each name in its first column."""
    text = REFERENCE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    return {name.strip(" `"): told.strip() for names, told in cells for name in names.split(",")}


def test_every_fault_is_told_with_how_long_it_lasts() -> None:
    told = rows("Faults")
    assert told.keys() == SCHEDULE.keys()
    for kind, span in SCHEDULE.items():
        lasts = f"{span.shortest:g} to {span.longest:g} s"
        assert (lasts in told[kind]) if span.longest else not re.search(r"\d s\b", told[kind]), kind
        assert f"up to {span.seldom:g} s" in told[kind] or not span.seldom, kind


def test_every_violation_is_told() -> None:
    assert rows("What must never happen").keys() == invariants.KINDS.keys()


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        ("seated_in_part", invariants.A_MOMENT),
        ("partly_seated", invariants.A_SWAP),
        ("preemption_in_vain", preemptions.A_START),
    ],
)
def test_limits_are_told(kind: str, seconds: float) -> None:
    assert re.findall(r"(\d+) s\b", rows("What must never happen")[kind]) == [f"{seconds:g}"]


def test_paces_are_told() -> None:
    words = " ".join(REFERENCE.split())
    once_in = round(1 / fault_schedule.LULLS)
    pauses = f"{fault_schedule.PAUSE:g} s on average; one pause in {once_in} is {fault_schedule.LULL:g} s longer"
    assert pauses in words
    assert f"a killed part has {case.RESTART:g} s after its return" in words
    assert f"up to {LONGEST_WITHOUT_CLAIM:g} s after their job" in words
    assert f"Every {ROUND:g} s (a long run: {['', 'once', 'twice', 'three', 'four', 'five'][ROUNDS]} times)" in words
