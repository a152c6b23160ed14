"""`understudy down`: stops a cluster and its pods; everything it knows stays for the next time."""

import argparse
from typing import Any

from understudy.cli.arguments import add_cluster_name

_ABOUT = """\
Stop a cluster: its pods first (a signal, then up to 30 seconds), then its parts. All objects
stay; `understudy up` brings the cluster back with them."""

_EXAMPLES = """\
examples:
  understudy down                 the only cluster there is, or the one called default
  understudy down --name slices
  understudy down --all --now     all of them, without waiting for pods to end by themselves"""


def add_to(verbs: Any) -> None:
    summary = "stop a cluster and its pods"
    parser: argparse.ArgumentParser = verbs.add_parser("down", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    which = parser.add_mutually_exclusive_group()
    add_cluster_name(which)
    which.add_argument("--all", action="store_true", help="every cluster of yours")
    parser.add_argument("--now", action="store_true", help="kill pods instead of asking them to end")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.clusters import chosen, every
    from understudy.cli.stopping import stop

    for cluster in every() if options.all else [chosen(options.name)]:
        stopped = stop(cluster, at_once=options.now)
        print(f"cluster {cluster.settings.name} {'is down' if stopped else 'was down already'}")
    return 0
