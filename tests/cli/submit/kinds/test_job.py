"""Flags into a batch/v1 Job."""

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import job


@pytest.mark.parametrize(
    ("flags", "counts"),
    [
        ([], (1, 1, None)),
        (["--workers=3"], (3, 3, "Indexed")),
        (["--completions=5"], (5, 5, "Indexed")),
        (["--completions=5", "--parallelism=2"], (5, 2, "Indexed")),
        (["--completions=5", "--workers=2"], (5, 2, "Indexed")),
        (["--parallelism=0"], (1, 0, None)),
    ],
)
def test_how_many(shell: Shell, flags: list[str], counts: tuple[int, int, str | None]) -> None:
    spec = job(shell, "job", *flags)["spec"]
    assert (spec["completions"], spec["parallelism"], spec.get("completionMode")) == counts


def test_how_it_ends(shell: Shell) -> None:
    spec = job(shell, "job", "--retry=4", "--running-timeout=1m", "--ttl-after-finished=0")["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (4, 60, 0)


def test_losing_a_node_is_no_failure(shell: Shell) -> None:
    [rule] = job(shell, "job")["spec"]["podFailurePolicy"]["rules"]
    assert rule == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
