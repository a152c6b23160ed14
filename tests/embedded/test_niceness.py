"""The components of a cluster take precedence over pods, which have the niceness of the shell that started it."""

import itertools
import os
import subprocess
import sys
import time

import pytest

from understudy.embedded.niceness import INITIAL_NICENESS, RAISED_NICENESS, WINDOW, PriorityGuard

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


# A part that keeps a core busy


class Machine:
    """A clock and CPU time that a test moves, and the niceness that was set."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 0.0
        self.niceness: list[int] = []
        self.guard = PriorityGuard(lambda: self.now, lambda: self.used, self.niceness.append)

    def run(self, share: float, seconds: int) -> None:
        for _ in range(seconds):
            self.used += share
            self.now += 1.0
            self.guard.look()


def test_a_busy_loop_gives_up_its_priority() -> None:
    """A millisecond of its CPU time stands for a second."""
    began = time.process_time()
    clock = itertools.count(100.0)
    found: list[int] = []
    guard = PriorityGuard(lambda: next(clock), lambda: (time.process_time() - began) * 1000, found.append)
    for second in range(int(WINDOW) + 1):
        while time.process_time() - began < second / 1000:
            pass
        guard.look()
    assert found == [INITIAL_NICENESS]


def test_a_part_that_keeps_a_core_busy_gives_up_its_priority_after_ten_seconds() -> None:
    machine = Machine()
    machine.run(1.0, int(WINDOW))
    assert machine.niceness == []
    machine.run(1.0, 1)
    assert machine.niceness == [INITIAL_NICENESS]
    machine.run(1.0, 60)
    assert machine.niceness == [INITIAL_NICENESS]


def test_it_takes_its_priority_back_when_it_is_calm() -> None:
    machine = Machine()
    machine.run(1.0, 20)
    machine.run(0.1, 5)
    assert machine.guard.given_up
    machine.run(0.1, 20)
    assert machine.niceness == [INITIAL_NICENESS, RAISED_NICENESS]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.75])
def test_a_part_that_leaves_something_of_the_core_keeps_its_priority(share: float) -> None:
    machine = Machine()
    machine.run(share, 60)
    assert machine.niceness == []


def test_a_short_burst_changes_nothing() -> None:
    machine = Machine()
    for _ in range(5):
        machine.run(1.0, 6)
        machine.run(0.0, 6)
    assert machine.niceness == []


def test_between_busy_and_calm_nothing_changes() -> None:
    machine = Machine()
    machine.run(1.0, 20)
    machine.run(0.7, 60)
    assert machine.niceness == [INITIAL_NICENESS]


THREADS = """
import os, threading
from understudy.embedded.niceness import set_niceness_of_threads

ends = threading.Event()
threads = [threading.Thread(target=ends.wait) for _ in range(3)]
for thread in threads:
    thread.start()
set_niceness_of_threads(9)
found = {os.getpriority(os.PRIO_PROCESS, int(name)) for name in os.listdir("/proc/self/task")}
ends.set()
print(len(threads), *found)
"""


def test_all_threads_of_a_part_give_up_their_priority() -> None:
    assert niceness(THREADS, 1) == [3, 9]
