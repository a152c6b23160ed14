"""The settings in force, as far as they are known from here."""

from understudy.cli.checkup.findings import Finding, note, well
from understudy.cli.checkup.seen import Seen
from understudy.cli.settings import DEFAULT


def check(seen: Seen) -> list[Finding]:
    changed = [one for one in seen.settings if one.source != DEFAULT]
    found = [well(f"{one.key} = {one.value} (from {one.source})") for one in changed]
    if not seen.embedded:
        where = "what a deployed Understudy goes by is in its ConfigMap; --settings FILE looks at such a file"
        found = [*(found or [well("all defaults")]), note(where)]
    return found or [well("all defaults")]
