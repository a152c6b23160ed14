"""`understudy plan`: reads a cluster from files and prints what Understudy would do now, and why. Changes nothing."""

import argparse
import sys
import time
from typing import Any

_ABOUT = """\
Print the plan Understudy would carry out now: who starts and on which nodes, who gives
way to whom, what replaces what broke, and why whoever waits has to wait.

It reads plain Kubernetes objects (YAML, JSON, or a List from `kubectl get ... -o yaml`)
and changes nothing anywhere. Jobs whose pods do not exist yet are planned from their
templates."""

_EXAMPLES = """\
changes for --what-if:
  fail-node=NAME[,NAME...]   these nodes are lost, all at once
  drain=NODE@DEADLINE        the node will be gone then: RFC 3339, seconds since 1970, or +5m
  add=FILE                   the objects in the file are there too
  remove=GANG                the gang is gone, with all its pods

examples:
  understudy plan -f cluster.yaml -f jobs/
  kubectl get nodes,pods,jobsets,priorityclasses -A -o yaml | understudy plan -f -
  understudy plan -f cluster.yaml --explain high-priority
  understudy plan -f cluster.yaml --what-if fail-node=node-7,node-8
  understudy plan -f cluster.yaml --what-if drain=node-7@+10m --what-if add=job.yaml -o json

exit codes: 0 the plan was printed, 2 the input is wrong (one line on stderr says where)"""


def add_to(verbs: Any) -> None:
    summary = "print what Understudy would do now, and why"
    parser: argparse.ArgumentParser = verbs.add_parser("plan", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    add = parser.add_argument
    add("-f", "--filename", action="append", required=True, metavar="FILE", dest="files",
        help="objects to read: a file, a directory, or - for stdin; may be repeated")  # fmt: skip
    add("-o", "--output", choices=("text", "json", "yaml"), default="text", help="form of the plan (default: text)")
    add("--now", metavar="TIME", help="plan for this moment: RFC 3339 or seconds since 1970 (default: the real time)")
    add("--explain", metavar="GANG",
        help="tell the whole story of one gang: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME")  # fmt: skip
    add("--what-if", action="append", default=[], metavar="CHANGE", dest="what_if",
        help="plan with and without a change, see below; may be repeated, all come true together")  # fmt: skip
    add("--settings", metavar="FILE", help="an understudy.yaml with the sections policy: and health:")
    add("--scheduler", metavar="NAME", default="",
        help="only pods with this spec.schedulerName are Understudy's to place (default: all)")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.answer import Question, answered

    now = time.time() if options.now is None else _moment(options.now)
    question = Question(
        files=tuple(options.files),
        now=now,
        form=options.output,
        explain=options.explain,
        what_if=tuple(options.what_if),
        settings=options.settings,
        scheduler=options.scheduler,
    )
    answer = answered(question)
    for note in answer.notes:
        print(f"note: {note}", file=sys.stderr)
    sys.stdout.write(answer.text)
    return 0


def _moment(text: str) -> float:
    from understudy.cli.moments import moment

    return moment(text, "--now")
