"""`understudy node`: the nodes of a cluster, one file a sub-verb."""

from understudy.cli.options import VerbParser
from understudy.cli.verbs.node import cordon, drain, fail, list_nodes, notice, recover

ABOUT = """\
Look at the nodes of a cluster, take them out of service and put them back; and, on an embedded
cluster, rehearse how they fail."""


def add_flags(parser: VerbParser) -> None:
    parts = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for part in (list_nodes, cordon, drain, notice, fail, recover):
        part.add_to(parts)
