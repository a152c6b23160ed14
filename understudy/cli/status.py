"""`understudy status`: which clusters there are, and how they are doing."""

import argparse
from typing import Any

_ABOUT = """\
Show the clusters of this user: whether they are up, where their API is, how many nodes are
ready, pods by phase, the processes they consist of, and how much they store."""

_EXAMPLES = """\
examples:
  understudy status
  understudy status --name slices -o json"""

SECONDS = 5.0


def add_to(verbs: Any) -> None:
    summary = "show which clusters there are and how they are doing"
    parser: argparse.ArgumentParser = verbs.add_parser("status", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--name", metavar="NAME", help="only this cluster (default: all)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form (default: text)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import asyncio
    import sys
    import time

    from understudy.cli.clusters import chosen, every
    from understudy.cli.condition import as_json, as_text
    from understudy.embedded.clusters.looking import report

    clusters = every() if options.name is None else [chosen(options.name)]

    async def look() -> list[Any]:
        return await asyncio.gather(*(report(cluster.folder, cluster.settings, SECONDS) for cluster in clusters))

    reports, now = asyncio.run(look()), time.time()
    sys.stdout.write(as_json(reports, now) if options.output == "json" else as_text(reports, now))
    return 0
