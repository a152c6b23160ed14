"""`understudy kubeconfig`: prints the kubeconfig of a cluster, or adds it to the user's own."""

import argparse
import sys
from typing import Any

from understudy.cli.clusters.selection import choose_cluster
from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_cluster_name
from understudy.embedded.clusters.credentials import context_name
from understudy.embedded.clusters.kubeconfig_merge import CannotMerge, default_kubeconfig, merge_kubeconfig

ABOUT = """\
Print the kubeconfig of a cluster. With --merge, add it to your own kubeconfig (the first file
of $KUBECONFIG, else ~/.kube/config) as context understudy-NAME and make that the current
context; nothing else in the file changes."""

EXAMPLES = """\
examples:
  export KUBECONFIG=$(understudy kubeconfig --path)
  understudy kubeconfig --name slices > slices.kubeconfig
  understudy kubeconfig --merge"""


def add_flags(parser: VerbParser) -> None:
    add_cluster_name(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--merge", action="store_true", help="add it to your own kubeconfig and use it from now on")
    how.add_argument("--path", action="store_true", help="print where the file is instead of what it says")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    cluster = choose_cluster(options.name)
    if options.merge:
        return _merge(cluster.folder.kubeconfig, cluster.settings.name)
    if options.path:
        print(cluster.folder.kubeconfig)
    else:
        sys.stdout.write(cluster.folder.kubeconfig.read_text())
    return 0


def _merge(source: Any, name: str) -> int:
    target, context = default_kubeconfig(), context_name(name)
    try:
        before = merge_kubeconfig(source, target)
    except CannotMerge as error:
        raise BadInput(str(error)) from None
    back = f"; `kubectl config use-context {before}` goes back" if before not in ("", context) else ""
    print(f"{target} has the context {context} now, and uses it{back}")
    return 0
