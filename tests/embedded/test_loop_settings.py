"""What an embedded cluster decides with: its own defaults, and what it was given."""

from understudy.decide.policy import SpareRule
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS, loop_settings


def test_what_is_not_given_is_as_ever() -> None:
    assert loop_settings({}) == EMBEDDED_DEFAULTS
    assert loop_settings({"policy": {}, "health": {}}) == EMBEDDED_DEFAULTS


def test_what_is_given_goes_before_the_defaults() -> None:
    found = loop_settings({"policy": {"minRuntime": 7, "spares": [{"count": 1}]}, "health": {"leaseLost": 9.0}})
    assert found.policy.min_runtime == 7.0
    assert found.policy.spares == (SpareRule(1),)
    assert found.policy.backoff == EMBEDDED_DEFAULTS.policy.backoff
    assert (found.limits.lease_lost, found.limits.not_ready_lost) == (9.0, EMBEDDED_DEFAULTS.limits.not_ready_lost)
