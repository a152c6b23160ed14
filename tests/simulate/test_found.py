"""What the search has found once: every kept scenario runs without a violation now."""

from pathlib import Path

import pytest

from understudy.simulate.search import read_found
from understudy.simulate.simulation import simulate

FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    found = read_found(path)
    outcome = simulate(found.scenario)
    assert outcome.violation is None, f"{found.invariant}: {outcome.violation.words}"


def test_there_is_something_to_replay() -> None:
    assert FOUND
