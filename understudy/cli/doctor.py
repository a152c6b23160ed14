"""`understudy doctor`: whether a cluster is fit for Understudy, and what to do where it is not."""

import argparse
from typing import Any

from understudy.cli.target import FAILED, Session, add_target, with_session
from understudy.kube.settings import SCHEDULER_NAME

_ABOUT = """\
Look over a cluster, before Understudy is installed in it or after: the server and its clock,
permissions, whether an Understudy leads, operators, nodes and their accelerators, the labels that
group them, spares, and who schedules what. It changes nothing.

Every finding has a mark: + well, . good to know, ! to mind, x wrong (on screen as ✓ · ! ✗), and
where something can be done, how. The exit code is 1 where something is wrong."""

_EXAMPLES = """\
examples:
  understudy doctor
  understudy doctor --as system:serviceaccount:understudy-system:understudy    may the installed one do its work?
  understudy doctor -o json"""


def add_to(verbs: Any) -> None:
    summary = "look over a cluster: is it fit for Understudy, and is all well?"
    parser: argparse.ArgumentParser = verbs.add_parser("doctor", help=summary, description=_ABOUT, epilog=_EXAMPLES)
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
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import sys

    from understudy.cli.checkup.chart import examined
    from understudy.cli.checkup.looking import looked_at
    from understudy.cli.checkup.seen import Wish
    from understudy.cli.checkup.telling import figures, in_words, is_well
    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.tables import show
    from understudy.cli.paint import Painter

    home = options.system_namespace or home_of(options.account)
    wish = Wish(options.scheduler_name, options.account, home, options.settings)

    async def work(session: Session) -> int:
        sections = examined(await looked_at(session, wish))
        if not print_as(options.output, figures(sections), ()):
            show(in_words(sections, Painter.on(sys.stdout)))
        return 0 if is_well(sections) else FAILED

    return with_session(options, work)


def home_of(account: str) -> str:
    """system:serviceaccount:NAMESPACE:NAME says where it lives."""
    parts = account.split(":")
    return parts[2] if len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] else "understudy-system"
