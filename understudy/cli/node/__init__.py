"""`understudy node`: the nodes of a cluster, one file a sub-verb."""

import argparse
from typing import Any

from understudy.cli.node import cordon, drain, fail, listing, recover

_ABOUT = """\
Look at the nodes of a cluster, take them out of service and put them back; and, on an embedded
cluster, rehearse how they fail."""


def add_to(verbs: Any) -> None:
    summary = "list, cordon and drain nodes; rehearse their failures"
    parser: argparse.ArgumentParser = verbs.add_parser("node", help=summary, description=_ABOUT)
    parts = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for part in (listing, cordon, drain, fail, recover):
        part.add_to(parts)
