"""`understudy spares`: the nodes kept free for repairs, who has them on loan, and what the rules still lack."""

import argparse
from typing import TYPE_CHECKING, Any

from understudy.cli.target import Session, add_target, with_session

if TYPE_CHECKING:
    from understudy.cli.loans import Spare

_ABOUT = """\
Show the spares: nodes kept free for repairs, by the label understudy.dev/spare or by a rule of the
settings (policy.spares). STATE is free, on loan (a borrower gives it back when it is needed), recalled
(the borrower is on its way out), in use (it has stepped in for a node that was lost), or what keeps
it from serving. Below, what each rule wants and has.

It goes by the settings of the scheduler of an embedded cluster; --settings shows what another file
would keep. The scheduler of any other cluster is taken to run with --settings or UNDERSTUDY_SETTINGS,
else with the settings of the Understudy that is installed there."""

_EXAMPLES = """\
examples:
  understudy spares
  understudy spares -o wide                             and since when, and what is wrong
  understudy spares --settings understudy.yaml          what these settings would keep"""

_HEAD = ("NODE", "DOMAIN", "BY", "ROLE", "STATE", "WITH")
_NONE = "<none>"


def add_to(verbs: Any) -> None:
    summary = "show the spares, and who has them on loan"
    parser: argparse.ArgumentParser = verbs.add_parser("spares", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    parser.add_argument("--settings", metavar="FILE", help="an understudy.yaml to go by")
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.glance import glance
    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.tables import show, table
    from understudy.cli.loans import need_figures, need_in_words, needs_of, spare_figures, spares_in

    async def work(session: Session) -> int:
        seen = await glance(session.client, options.settings)
        spares, needs = spares_in(seen), needs_of(seen)
        figures = {"spares": [spare_figures(one) for one in spares], "rules": [need_figures(one) for one in needs]}
        if print_as(options.output, figures, [f"node/{one.node}" for one in spares]):
            return 0
        now, wide = time.time(), options.output == "wide"
        rows = [(*_HEAD, *(("SINCE", "REASON") if wide else ())), *(_row(one, now, wide=wide) for one in spares)]
        lines = table(rows) if spares else ["no spares"]
        show([*lines, *([""] if needs else []), *map(need_in_words, needs)])
        return 0

    return with_session(options, work)


def _row(spare: "Spare", now: float, *, wide: bool) -> tuple[str, ...]:
    from understudy.cli.durations import short
    from understudy.cli.loans import role_of, told

    holders = ", ".join(map(told, spare.loans)) or _NONE
    row = (spare.node, spare.domain or _NONE, spare.by, role_of(spare), spare.state, holders)
    since = short(now - spare.since) if spare.since is not None else _NONE
    return (*row, since, spare.reason or _NONE) if wide else row
