"""`understudy doctor`: whether a cluster is fit for Understudy, and what to do where it is not."""

import argparse
import sys
from collections.abc import Callable

from understudy.cli.doctor import health_reports, installation, nodes, server, workloads
from understudy.cli.doctor.collect import collect_facts
from understudy.cli.doctor.facts import CheckupRequest, ClusterFacts
from understudy.cli.doctor.findings import Finding, Section, all_well, report_figures, report_lines
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show
from understudy.cli.output.terminal import Painter
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.kube.settings import SCHEDULER_NAME

ABOUT = """\
Look over a cluster, before Understudy is installed in it or after: the server and its clock,
permissions, whether an Understudy leads, operators, nodes and their accelerators, who reports on
their health, the labels that group them, spares, and who schedules what. It changes nothing.

Every finding has a mark: + well, . good to know, ! to mind, x wrong (on screen as ✓ · ! ✗), and
where something can be done, how. The exit code is 1 where something is wrong."""
EXAMPLES = """\
examples:
  understudy doctor
  understudy doctor --as system:serviceaccount:understudy-system:understudy    may the installed one do its work?
  understudy doctor -o json"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument(
        "--as", dest="account", metavar="USER", default="", help="whose permissions to look at (default: your own)"
    )
    parser.add_argument(
        "--system-namespace",
        metavar="NAME",
        help="where Understudy runs (default: that of a service account given with --as, else understudy-system)",
    )
    parser.add_argument(
        "--scheduler-name",
        metavar="NAME",
        default=SCHEDULER_NAME,
        help=f"by which pods ask for it (default: {SCHEDULER_NAME})",
    )
    parser.add_argument("--settings", metavar="FILE", help="an understudy.yaml to look at")
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="form (default: text)")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    home = options.system_namespace or home_of(options.account)
    request = CheckupRequest(options.scheduler_name, options.account, home, options.settings)

    async def work(session: Session) -> int:
        sections = run_checks(await collect_facts(session, request))
        if not print_as(options.output, report_figures(sections), ()):
            show(report_lines(sections, Painter.on(sys.stdout)))
        return 0 if all_well(sections) else FAILED

    return run_in_session(options, work)


def home_of(account: str) -> str:
    """The namespace in system:serviceaccount:NAMESPACE:NAME."""
    parts = account.split(":")
    return parts[2] if len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] else "understudy-system"


CHECKS: tuple[tuple[str, Callable[[ClusterFacts], list[Finding]]], ...] = (
    ("Cluster", server.check_server),
    ("Permissions", server.check_permissions),
    ("Understudy", installation.check_installation),
    ("Operators", workloads.check_operators),
    ("Nodes", nodes.check_nodes),
    ("Health reports", health_reports.check_health_reports),
    ("Topology", nodes.check_topology),
    ("Work", workloads.check_pods),
    ("Settings", installation.check_settings),
)


def run_checks(facts: ClusterFacts) -> list[Section]:
    found = [Section(title, tuple(check(facts))) for title, check in CHECKS]
    return [section for section in found if section.findings]
