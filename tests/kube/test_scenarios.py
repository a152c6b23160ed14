"""The scenarios on a real control plane with the real operators: those that say most, or all that can be played there.

All of them take minutes, and one or two tell of most kinds of trouble: UNDERSTUDY_ALL_SCENARIOS=1 asks for the rest.
"""

import os
from pathlib import Path

import pytest

from tests.kube.cluster.running import Cluster
from tests.kube.kube_world import KubeWorld
from tests.kube.scenery import why_not
from tests.scenarios.checking import play
from tests.scenarios.script import FOLDER, files, read
from tests.scenarios.test_loop import without_counts

ALL = "UNDERSTUDY_ALL_SCENARIOS"
# Every kind of job, every event, every fall-back, every guard that the world outside has a say in.
TELLING = (
    "guards/back-off",
    "guards/lemon-node",
    "guards/mass-failure",
    "guards/preemption-budget",
    "placing/cordoned-node-gets-nothing-new",
    "placing/driver-beside-exclusive-islands",
    "placing/elastic-starts-small",
    "placing/gated-pod-waits",
    "placing/hot-swap-example",
    "placing/launcher-and-workers-of-different-shapes",
    "placing/lone-pod",
    "placing/packing-keeps-racks-whole",
    "placing/plain-job",
    "preempting/budget-steers-the-choice",
    "preempting/exclusive-domain-of-a-lesser",
    "preempting/held-seats-stay-held",
    "preempting/kueue-keeps-its-suspend",
    "preempting/surplus-before-whole-gangs",
    "preempting/victim-keeps-its-place-in-line",
    "preempting/victim-that-asked-to-end",
    "preempting/victim-that-does-not-go",
    "seeds/000-no-spare-low-goes-whole",
    "seeds/001-medium-ends-as-it-asked-to",
    "seeds/003-leader-does-not-deadlock",
    "seeds/004-one-gpu-is-enough-to-preempt-three-nodes",
    "swaps/burst-across-three-gangs",
    "swaps/elastic-drops-whole-islands",
    "swaps/elastic-shrinks-and-grows-back",
    "swaps/flapping-node",
    "swaps/hold-ahead-is-left-alone",
    "swaps/leaving-node-takes-the-place-of-a-lesser",
    "swaps/node-recovers-while-victims-leave",
    "swaps/required-topology-moves-whole",
    "swaps/spare-dies-while-stepping-in",
    "swaps/spare-on-loan-is-recalled",
    "swaps/sticky-seats-after-a-requeue",
    "swaps/suspect-node-in-an-exclusive-domain",
)


def name_of(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


def chosen() -> list[Path]:
    return files() if os.environ.get(ALL) else [FOLDER / f"{name}.yaml" for name in TELLING]


@pytest.mark.parametrize("path", chosen(), ids=name_of)
def test_scenario(path: Path, kube: Cluster, tmp_path: Path) -> None:
    scenario = without_counts(read(path))
    if reason := why_not(scenario):
        pytest.skip(reason)
    with KubeWorld(scenario, kube, tmp_path) as world:
        assert play(scenario, world) == []
