"""`understudy reset`: stops a cluster and removes everything it knows."""

import argparse
import sys
from typing import Any

from understudy.cli.arguments import add_cluster_name

_ABOUT = """\
Stop a cluster and remove everything it has: objects, logs, pods' files, volumes, tokens. The
next `understudy up` of that name starts from nothing. Asks first on a terminal; elsewhere
say --yes."""

_EXAMPLES = """\
examples:
  understudy reset
  understudy reset --name slices --yes"""


def add_to(verbs: Any) -> None:
    summary = "remove a cluster and everything it has"
    parser: argparse.ArgumentParser = verbs.add_parser("reset", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    add_cluster_name(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import shutil

    from understudy.cli.clusters import chosen
    from understudy.cli.stopping import stop

    cluster = chosen(options.name)
    if not options.yes and not _agreed(cluster.settings.name):
        print(f"cluster {cluster.settings.name} stays as it is")
        return 1
    stop(cluster, at_once=True)
    shutil.rmtree(cluster.folder.path)
    print(f"cluster {cluster.settings.name} is gone, with everything in it")
    return 0


def _agreed(name: str) -> bool:
    from understudy.cli.complaint import BadInput

    if not sys.stdin.isatty():
        raise BadInput(f"reset removes all objects, logs and volumes of cluster {name}; say --yes if that is meant")
    answer = input(f"Remove cluster {name} with all its objects, logs and volumes? [y/N] ")
    return answer.strip().lower() in ("y", "yes")
