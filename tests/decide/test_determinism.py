"""The same cluster gives the same plan in every process, whatever seed Python hashes strings with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.decide.builders import NOW, cluster, jobset, queued, running, seats, slices
from tests.decide.random_clusters import ClusterOptions, seeded
from tests.examples import seeds
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy

ROOT = Path(__file__).parents[2]

PLANS = """
import hashlib
from msgspec.structs import replace
from tests.decide.random_clusters import ClusterOptions, seeded
from understudy.decide.cycle import plan

digest = hashlib.sha256()
for seed in range(60):
    cluster = seeded(seed, ClusterOptions())
    for exact in (0, 10):
        decided = plan(cluster.snapshot(), replace(cluster.policy, exact_victims=exact), cluster.now)
        digest.update(repr(decided).encode())
print(digest.hexdigest())
"""


def digest(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PLANS]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120).stdout


def test_plans_do_not_depend_on_how_strings_are_hashed() -> None:
    assert digest("0") == digest("1") == digest("2")


@pytest.mark.law
@pytest.mark.parametrize("exact_victims", [0, 10])
def test_planning_several_times_gives_the_same_plan_each_time(exact_victims: int) -> None:
    for seed in seeds(120):
        cluster = seeded(seed, ClusterOptions())
        snapshot, policy = cluster.snapshot(), replace(cluster.policy, exact_victims=exact_victims)
        plans = [plan(snapshot, policy, cluster.now) for _ in range(4)]
        assert plans == [plans[0]] * 4


def test_a_job_that_was_placed_by_a_label_and_is_gone_changes_no_plan() -> None:
    """While such a job is there, others keep to slices that are in use."""
    now = cluster(slices(s0="a b", s1="c d"), running("other", on="c"), queued("next"))
    meanwhile = now.updated(gangs=[jobset("sliced", members=3)])
    later = meanwhile.updated(gone_gangs=[jobset("sliced").key])
    assert seats(plan(meanwhile, Policy(), NOW)) == {"next-0": "d"}
    assert seats(plan(now, Policy(), NOW)) == seats(plan(later, Policy(), NOW)) == {"next-0": "a"}
