"""How Hypothesis runs: the same examples every time, a few of each law by default, all of them in thorough tests.

What tests measure goes to `record_property("measured", line)` and is printed at the end of the run.
"""

import os

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile(
    "thorough", derandomize=True, deadline=None, database=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile("default", settings.get_profile("thorough"), max_examples=20)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=10)
settings.register_profile("explore", deadline=None, max_examples=2_000, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

WORKERS_PER_CORE = 2  # most tests wait for other processes half of the time


def pytest_xdist_auto_num_workers() -> int:
    """How many workers `-n auto` starts."""
    return WORKERS_PER_CORE * len(os.sched_getaffinity(0))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.law)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome) if r.when == "call")
    lines = sorted(str(line) for report in reports for name, line in report.user_properties if name == "measured")
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
