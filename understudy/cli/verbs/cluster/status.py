"""`understudy status`: which clusters there are, and how they are doing."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from understudy.cli.clusters.selection import choose_cluster, local_clusters
from understudy.cli.errors import BadInput
from understudy.cli.input.times import long_duration
from understudy.cli.options import VerbParser
from understudy.cli.output.formats import dump
from understudy.cli.queries.remote_cluster import read_remote_cluster, remote_config, remote_figures, remote_lines
from understudy.cli.session import FAILED
from understudy.embedded.clusters.process_lock import SUPERVISOR
from understudy.embedded.clusters.report import DOWN, ClusterReport, cluster_report

ABOUT = """\
Show the embedded clusters of this user: whether they are up, where their API is, how many nodes
are ready, pods by phase, the processes they consist of, and how much they store.

With --context or --kubeconfig, or where there is no embedded cluster and a kubeconfig leads to
another: its version, nodes and pods, how many of them are Understudy's to place, whether
Understudy is installed there, and which replica leads."""
EXAMPLES = """\
examples:
  understudy status
  understudy status --name slices -o json
  understudy status --context prod"""
SECONDS = 5.0


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("--name", metavar="NAME", help="only this embedded cluster (default: all)")
    parser.add_argument("--context", metavar="NAME", default=argparse.SUPPRESS,
                        help="the cluster of this context of the kubeconfig instead")  # fmt: skip
    parser.add_argument("--kubeconfig", metavar="FILE", default=argparse.SUPPRESS,
                        help="the cluster of this kubeconfig instead")  # fmt: skip
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form (default: text)")
    parser.set_defaults(run=run, cluster_flags=("context", "kubeconfig"))


def run(options: argparse.Namespace) -> int:
    if options.name and (options.context or options.kubeconfig):
        raise BadInput("--name names an embedded cluster, --kubeconfig and --context any other: give one of them")
    clusters = local_clusters() if options.name is None else [choose_cluster(options.name)]
    if options.context or options.kubeconfig or not clusters:
        code = _show_remote_cluster(options)
        if code is not None:
            return code

    async def look() -> list[Any]:
        return await asyncio.gather(
            *(cluster_report(cluster.folder, cluster.settings, SECONDS) for cluster in clusters)
        )

    reports, now = asyncio.run(look()), time.time()
    sys.stdout.write(as_json(reports, now) if options.output == "json" else as_text(reports, now))
    return 0


def _show_remote_cluster(options: argparse.Namespace) -> int | None:
    """Reports on the cluster of the kubeconfig. None: there is no kubeconfig, or its cluster is an embedded one."""
    config = remote_config(options)
    if config is None:
        return None
    seen = asyncio.run(read_remote_cluster(config, SECONDS))
    if options.output == "json":
        sys.stdout.write(dump({"clusters": [], "elsewhere": remote_figures(seen)}, "json"))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in remote_lines(seen)))
    return FAILED if seen.trouble else 0


_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def as_text(reports: Sequence[ClusterReport], now: float) -> str:
    if not reports:
        return "There is no cluster; `understudy up` makes one.\n"
    return "\n".join("".join(f"{line}\n" for line in _lines(report, now)) for report in reports)


def as_json(reports: Sequence[ClusterReport], now: float) -> str:
    documents = []
    for found in reports:
        document = msgspec.to_builtins(found)
        document["parts"] = {
            part: process and {"pid": process.pid, "seconds": round(now - process.started, 3)}
            for part, process in found.parts.items()
        }
        documents.append(document)
    return msgspec.json.format(msgspec.json.encode({"clusters": documents})).decode() + "\n"


def _lines(report: ClusterReport, now: float) -> Iterator[str]:
    yield f"{report.name}: {report.state}"
    if report.state != DOWN:
        yield f"  server      {report.server}"
        yield f"  nodes       {_nodes(report)}"
        if report.pods is not None:
            yield f"  pods        {_pods(report)}"
    else:
        yield f"  nodes       {report.nodes}"
    yield f"  kubeconfig  {report.kubeconfig}"
    yield f"  stored      {_size(report.stored_bytes)}"
    if report.state != DOWN:
        yield f"  parts       {', '.join(_parts(report, now))}"
    if report.state != DOWN and report.parts[SUPERVISOR] is None:
        yield "  note        no supervisor runs, so no part is restarted; `understudy up` takes over"


def _nodes(report: ClusterReport) -> str:
    if report.ready_nodes is None:
        return f"unknown: {report.trouble}"
    return f"{report.ready_nodes} of {report.nodes} ready"


def _pods(report: ClusterReport) -> str:
    return ", ".join(f"{count} {phase.lower()}" for phase, count in (report.pods or {}).items()) or "none"


def _parts(report: ClusterReport, now: float) -> Iterator[str]:
    for part, found in report.parts.items():
        yield f"{part} {f'{found.pid} ({long_duration(now - found.started)})' if found else 'is not running'}"


def _size(count: int) -> str:
    for size, unit in _SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
