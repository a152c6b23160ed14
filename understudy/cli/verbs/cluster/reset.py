"""`understudy reset`: stops a cluster and removes all its data."""

import argparse
import shutil
import sys

from understudy.cli.clusters.selection import choose_cluster, stop_local_cluster
from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_cluster_name

ABOUT = """\
Stop a cluster and remove everything it has: objects, logs, pods' files, volumes, tokens. The
next `understudy up` of that name starts from nothing. Asks first on a terminal; elsewhere
say --yes."""

EXAMPLES = """\
examples:
  understudy reset
  understudy reset --name slices --yes"""


def add_flags(parser: VerbParser) -> None:
    add_cluster_name(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    cluster = choose_cluster(options.name)
    if not options.yes and not _agreed(cluster.settings.name):
        print(f"cluster {cluster.settings.name} stays as it is")
        return 1
    stop_local_cluster(cluster, at_once=True)
    shutil.rmtree(cluster.folder.path)
    print(f"cluster {cluster.settings.name} is gone, with everything in it")
    return 0


def _agreed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise BadInput(f"reset removes all objects, logs and volumes of cluster {name}; say --yes if that is meant")
    answer = input(f"Remove cluster {name} with all its objects, logs and volumes? [y/N] ")
    return answer.strip().lower() in ("y", "yes")
