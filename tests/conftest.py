"""How Hypothesis runs: the same examples every time in CI, fewer for quick tests, fresh ones and more to explore.

What tests measure goes to `record_property("measured", line)` and is printed at the end of the run.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile("ci", derandomize=True, deadline=None, database=None, suppress_health_check=SLOW_IS_FINE)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
settings.register_profile("explore", deadline=None, max_examples=2_000, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome) if r.when == "call")
    lines = sorted(str(line) for report in reports for name, line in report.user_properties if name == "measured")
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
