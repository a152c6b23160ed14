"""`understudy logs`: what an instance of a job prints, or printed before it ended."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import add_target

_ABOUT = """\
Print the log of a job's first instance (its launcher or master, else the one with index 0), or of the instance
that -i names. Instances that have ended keep their logs as long as their pods are there."""

_EXAMPLES = """\
examples:
  understudy logs medium -f                   as it comes; waits until the instance has started
  understudy logs medium -i medium-worker-0 --tail 20
  understudy logs medium -i worker-0 --since 5m --timestamps
  understudy logs medium --previous           of the attempt before this one"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "logs", aliases=["log"], help="print what an instance of a job prints", description=_ABOUT, epilog=_EXAMPLES
    )
    add = parser.add_argument
    add("job", metavar="JOB")
    add("-f", "--follow", action="store_true", help="go on until the instance ends")
    add("-i", "--instance", metavar="NAME", help="an instance, as `understudy get` lists them; worker-0 will do")
    add("-c", "--container", metavar="NAME", help="a container of the instance (default: its first)")
    add("-t", "--tail", metavar="N", type=int, help="only the last lines")
    add("--since", metavar="TIME", help="only what is newer than this, such as 5s, 2m or 3h")
    add("--since-time", metavar="TIME", help="only what came after this moment (RFC 3339)")
    add("--timestamps", action="store_true", help="the time before every line")
    add("-p", "--previous", action="store_true", help="of the attempt before the last")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.jobs.log_printing import Wanted, print_log, query_of
    from understudy.cli.target import Session, with_session

    wanted = Wanted(options.instance, options.container, options.follow, options.previous, query_of(options))

    async def work(session: Session) -> int:
        return await print_log(session, (options.job, options.type), wanted)

    return with_session(options, work)
