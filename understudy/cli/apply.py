"""`understudy apply -f FILE`: objects of any kind into the cluster, by server-side apply."""

import argparse
from typing import Any

from understudy.cli.target import add_target

_ABOUT = """\
Create the objects of a file, or change those there are into what the file says. Any kind the
cluster serves. Everything is tried before anything is stored, so a file with a mistake in it
changes nothing. Objects are sent by kind: what others refer to (namespaces, definitions, priorities,
config maps, claims) first, jobs last.

PriorityClasses written for scheduling.k8s.io/v1beta1, which Kubernetes no longer serves, are
applied as v1."""

_EXAMPLES = """\
examples:
  understudy apply -f priorities.yaml
  understudy apply -f manifests/ -n research
  kubectl get job train -o yaml | understudy apply -f - --dry-run"""


def add_to(verbs: Any) -> None:
    summary = "create or change objects of any kind"
    parser: argparse.ArgumentParser = verbs.add_parser("apply", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument(
        "-f", "--filename", metavar="FILE", dest="files", action="append", required=True,
        help="YAML or JSON with any number of objects, a directory of such files, or - for stdin; may be repeated",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="let the cluster check everything, and change nothing")
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli import documents
    from understudy.cli.submit.applying import apply
    from understudy.cli.target import Session, with_session

    found = documents.read(options.files)

    async def work(session: Session) -> int:
        return await apply(session, found, dry_run=options.dry_run)

    return with_session(options, work)
