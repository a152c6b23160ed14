"""`understudy down`: stops a cluster and its pods. Its objects stay for the next start."""

import argparse

from understudy.cli.clusters.selection import choose_cluster, local_clusters, stop_local_cluster
from understudy.cli.options import VerbParser, add_cluster_name

ABOUT = """\
Stop a cluster: its pods first (a signal, then up to 30 seconds), then its parts. All objects
stay; `understudy up` brings the cluster back with them."""

EXAMPLES = """\
examples:
  understudy down                 the only cluster there is, or the one called default
  understudy down --name slices
  understudy down --all --now     all of them, without waiting for pods to end by themselves"""


def add_flags(parser: VerbParser) -> None:
    which = parser.add_mutually_exclusive_group()
    add_cluster_name(which)
    which.add_argument("--all", action="store_true", help="every cluster of yours")
    parser.add_argument("--now", action="store_true", help="kill pods instead of asking them to end")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    for cluster in local_clusters() if options.all else [choose_cluster(options.name)]:
        stopped = stop_local_cluster(cluster, at_once=options.now)
        print(f"cluster {cluster.settings.name} {'is down' if stopped else 'was down already'}")
    return 0
