"""`understudy apply -f FILE`: objects of any kind into the cluster, by server-side apply."""

import argparse

from understudy.cli.input import documents
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.session import Session, run_in_session
from understudy.cli.submit.apply import apply

ABOUT = """\
Create the objects of a file, or change those there are into what the file says. Any kind the
cluster serves. Everything is tried before anything is stored, so a file with a mistake in it
changes nothing. Objects are sent by kind: what others refer to (namespaces, definitions, priorities,
config maps, claims) first, jobs last.

PriorityClasses written for scheduling.k8s.io/v1beta1, which Kubernetes no longer serves, are
applied as v1."""

EXAMPLES = """\
examples:
  understudy apply -f priorities.yaml
  understudy apply -f manifests/ -n research
  kubectl get job train -o yaml | understudy apply -f - --dry-run"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument(
        "-f", "--filename", metavar="FILE", dest="files", action="append", required=True,
        help="YAML or JSON with any number of objects, a directory of such files, or - for stdin; may be repeated",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="let the cluster check everything, and change nothing")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    found = documents.read(options.files)

    async def work(session: Session) -> int:
        return await apply(session, found, dry_run=options.dry_run)

    return run_in_session(options, work)
