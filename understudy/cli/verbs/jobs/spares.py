"""`understudy spares`: the nodes kept free for repairs, the jobs that borrow them, and what the rules still lack."""

import argparse
import time

from understudy.cli.input.times import short_duration
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show, table
from understudy.cli.queries.scheduler_state import read_planning_state
from understudy.cli.queries.spares import Spare, list_spares, rule_statuses
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.spares import holder_text, role_text, rule_figures, rule_status_text, spare_figures

ABOUT = """\
Show the spares: nodes kept free for repairs, by the label understudy.dev/spare or by a rule of the
settings (policy.spares). STATE is free, on loan (a borrower gives it back when it is needed), recalled
(the borrower is on its way out), in use (it has stepped in for a node that was lost), or what keeps
it from serving. Below, what each rule wants and has.

It goes by the settings of the scheduler of an embedded cluster; --settings shows what another file
would keep. The scheduler of any other cluster is taken to run with --settings or UNDERSTUDY_SETTINGS,
else with the settings of the Understudy that is installed there."""

EXAMPLES = """\
examples:
  understudy spares
  understudy spares -o wide                             and since when, and what is wrong
  understudy spares --settings understudy.yaml          what these settings would keep"""

_HEAD = ("NODE", "DOMAIN", "BY", "ROLE", "STATE", "WITH")
_NONE = "<none>"


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    parser.add_argument("--settings", metavar="FILE", help="an understudy.yaml to go by")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        seen = await read_planning_state(session.client, options.settings)
        spares, needs = list_spares(seen), rule_statuses(seen)
        figures = {"spares": [spare_figures(one) for one in spares], "rules": [rule_figures(one) for one in needs]}
        if print_as(options.output, figures, [f"node/{one.node}" for one in spares]):
            return 0
        now, wide = time.time(), options.output == "wide"
        rows = [(*_HEAD, *(("SINCE", "REASON") if wide else ())), *(_row(one, now, wide=wide) for one in spares)]
        lines = table(rows) if spares else ["no spares"]
        show([*lines, *([""] if needs else []), *map(rule_status_text, needs)])
        return 0

    return run_in_session(options, work)


def _row(spare: Spare, now: float, *, wide: bool) -> tuple[str, ...]:
    holders = ", ".join(map(holder_text, spare.holders)) or _NONE
    row = (spare.node, spare.domain or _NONE, spare.by, role_text(spare), spare.state, holders)
    since = short_duration(now - spare.since) if spare.since is not None else _NONE
    return (*row, since, spare.reason or _NONE) if wide else row
