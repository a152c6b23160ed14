"""The order of a checkup: from whether the cluster answers to what it would do."""

from collections.abc import Callable

from understudy.cli.checkup import installation, nodes, operators, rights, server, settings, topology, work
from understudy.cli.checkup.findings import Finding, Section
from understudy.cli.checkup.seen import Seen

CHECKS: tuple[tuple[str, Callable[[Seen], list[Finding]]], ...] = (
    ("Cluster", server.check),
    ("Permissions", rights.check),
    ("Understudy", installation.check),
    ("Operators", operators.check),
    ("Nodes", nodes.check),
    ("Topology", topology.check),
    ("Work", work.check),
    ("Settings", settings.check),
)


def examined(seen: Seen) -> list[Section]:
    found = [Section(title, tuple(check(seen))) for title, check in CHECKS]
    return [section for section in found if section.findings]
