"""Probes: turns the results of checks, one by one, into what they say about a container."""

import enum

import msgspec

from understudy.embedded.agent.pods import Probe


class Finding(enum.Enum):
    PASSED = enum.auto()
    FAILED = enum.auto()
    OPEN = enum.auto()  # neither threshold has been reached since the last change


class Result(msgspec.Struct, frozen=True):
    """Of one check."""

    passed: bool
    message: str = ""


class Tally(msgspec.Struct, frozen=True):
    """Results of one kind in a row."""

    passed: bool = False
    count: int = 0


def counted(tally: Tally, result: Result) -> Tally:
    return Tally(result.passed, tally.count + 1 if tally.passed == result.passed else 1)


def finding(probe: Probe, tally: Tally) -> Finding:
    if tally.passed:
        return Finding.PASSED if tally.count >= probe.success_threshold else Finding.OPEN
    return Finding.FAILED if tally.count >= probe.failure_threshold else Finding.OPEN
