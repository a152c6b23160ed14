"""The mutation check: with a defect put back into the product, the search finds it within 1,000 seeds."""

import itertools

import pytest

from tests.simulate.mutations import MUTATIONS
from understudy.simulate.search import run_seed

SEEDS = 1000


@pytest.mark.parametrize("name", list(MUTATIONS))
def test_a_defect_that_is_put_back_is_found(name: str) -> None:
    mutation, likely = MUTATIONS[name]
    with mutation():
        found = next((seed for seed in itertools.chain([likely], range(SEEDS)) if run_seed(seed).violation), None)
    assert found is not None, f"no seed below {SEEDS} fails"
    assert run_seed(found).violation is None, f"seed {found} fails without the defect, too"
