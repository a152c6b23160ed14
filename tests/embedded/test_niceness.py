"""The components of a cluster take precedence over pods, which have the niceness of the shell that started it."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os
from understudy.embedded.niceness import INITIAL_NICENESS, raise_priority, set_niceness

raise_priority()
raised = os.getpriority(os.PRIO_PROCESS, 0)
set_niceness(INITIAL_NICENESS)
print(raised, os.getpriority(os.PRIO_PROCESS, 0))
"""


def niceness(script: str, started_with: int) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=lambda: os.nice(started_with),
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may lower the niceness")
def test_parts_take_precedence_and_pods_step_back() -> None:
    assert niceness(SCRIPT, 3) == [-7, 3]


def test_where_it_is_not_permitted_nothing_happens() -> None:
    refused = "import os\n\ndef no(*_): raise PermissionError\n\nos.setpriority = no\n"
    assert niceness(refused + SCRIPT, 2) == [2, 2]
