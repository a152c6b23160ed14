"""`understudy status`: which clusters there are, and how they are doing."""

import argparse
from typing import Any

from understudy.cli.complaint import BadInput
from understudy.cli.target import FAILED

_ABOUT = """\
Show the embedded clusters of this user: whether they are up, where their API is, how many nodes
are ready, pods by phase, the processes they consist of, and how much they store.

With --context or --kubeconfig, or where there is no embedded cluster and a kubeconfig leads to
another: its version, nodes and pods, how many of them are Understudy's to place, whether
Understudy is installed there, and which replica leads."""

_EXAMPLES = """\
examples:
  understudy status
  understudy status --name slices -o json
  understudy status --context prod"""

SECONDS = 5.0


def add_to(verbs: Any) -> None:
    summary = "show which clusters there are and how they are doing"
    parser: argparse.ArgumentParser = verbs.add_parser("status", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--name", metavar="NAME", help="only this embedded cluster (default: all)")
    parser.add_argument("--context", metavar="NAME", help="the cluster of this context of the kubeconfig instead")
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster of this kubeconfig instead")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form (default: text)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import asyncio
    import sys
    import time

    from understudy.cli.clusters import chosen, every
    from understudy.cli.condition import as_json, as_text
    from understudy.embedded.clusters.report import cluster_report

    if options.name and (options.context or options.kubeconfig):
        raise BadInput("--name names an embedded cluster, --kubeconfig and --context any other: give one of them")
    clusters = every() if options.name is None else [chosen(options.name)]
    if options.context or options.kubeconfig or not clusters:
        code = _afar(options)
        if code is not None:
            return code

    async def look() -> list[Any]:
        return await asyncio.gather(
            *(cluster_report(cluster.folder, cluster.settings, SECONDS) for cluster in clusters)
        )

    reports, now = asyncio.run(look()), time.time()
    sys.stdout.write(as_json(reports, now) if options.output == "json" else as_text(reports, now))
    return 0


def _afar(options: argparse.Namespace) -> int | None:
    """The cluster that a kubeconfig leads to, where it is not an embedded one; None: it is, or there is none."""
    import asyncio
    import sys

    from understudy.cli.afar import config_afar, figures_of, lines_of, looked_afar
    from understudy.cli.figures import dumped

    config = config_afar(options)
    if config is None:
        return None
    seen = asyncio.run(looked_afar(config, SECONDS))
    if options.output == "json":
        sys.stdout.write(dumped({"clusters": [], "elsewhere": figures_of(seen)}, "json"))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines_of(seen)))
    return FAILED if seen.trouble else 0
