"""The API server: its version, and its clock."""

import re

from understudy.cli.checkup.findings import Finding, care, note, well, wrong
from understudy.cli.checkup.seen import Seen

OLDEST = (1, 29)  # that the chart takes
TOLERABLE, TOO_MUCH = 2.0, 15.0  # seconds; a node is suspected after some ten seconds of silence


def check(seen: Seen) -> list[Finding]:
    who = f" as {seen.user}" if seen.user else ""
    return [_version(seen, f"at {seen.address}, asked{who}"), _clock(seen.skew)]


def _version(seen: Seen, where: str) -> Finding:
    numbers = re.match(r"v(\d+)\.(\d+)", seen.version)
    if seen.embedded or numbers is None or (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return well(f"Kubernetes {seen.version} {where}")
    return care(
        f"Kubernetes {seen.version} {where}", f"nobody has tried Understudy with less than v{OLDEST[0]}.{OLDEST[1]}"
    )


def _clock(skew: float | None) -> Finding:
    if skew is None:
        return note(
            "the clock of the cluster was not read: that takes the right to create a ConfigMap (it is not kept)"
        )
    text = f"the cluster's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} ours"
    fix = "let both follow the same time service (NTP): silence of nodes is measured in seconds"
    if abs(skew) > TOO_MUCH:
        return wrong(text, fix)
    return care(text, fix) if abs(skew) > TOLERABLE else well("its clock and ours agree")
